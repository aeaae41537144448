/*
 * record/attach.h - uprobe links of the allocator programs to files.
 *
 * Links are by inode: they act on every process that maps the file, now or later, and the programs
 * decide who is tracked. Return probes are in place before entry probes, since a return without an
 * entry is ignored but an entry without a return would look like a call that never ends.
 */
#ifndef MT_ATTACH_H
#define MT_ATTACH_H

#include <stdbool.h>
#include <stddef.h>

struct mt_attacher;
struct mt_probe;

enum mt_attach_mode {
	MT_ATTACH_AUTO,		/* the first of those below that the kernel has */
	MT_ATTACH_SESSION,	/* multi, and both ends of a call in one: Linux 6.13 and later */
	MT_ATTACH_MULTI,	/* uprobe_multi links, Linux 6.6 and later */
	MT_ATTACH_PERF,		/* one perf event per probe */
};

struct mt_probe_programs {
	int alloc_fd;	/* entry of functions that allocate */
	int return_fd;	/* their return */
	int call_fd;	/* both, in a session */
	int free_fd;	/* entry of functions that free */
	int ret_site_fd;	/* return instructions of functions that may throw */
	int leave_fd;	/* entry of what an allocator calls before the program's own code */
	int wait_fd;	/* where a dynamic linker waits */
	int exec_fd;	/* where one waits before a file is executed; not with MT_ATTACH_PERF */
	int cookies_fd;	/* where a kernel has no cookies (record/old_kernel.h), else negative */
	int jumps_fd;
};

/*
 * The mode to use where this one is asked for, never AUTO. Loads throw-away programs to find out.
 * -EOPNOTSUPP: the kernel lacks it.
 */
int mt_attach_choose(enum mt_attach_mode wanted, enum mt_attach_mode *ret_mode);
const char *mt_attach_mode_name(enum mt_attach_mode mode);

int mt_attacher_new(const struct mt_probe_programs *programs, enum mt_attach_mode mode,
		    struct mt_attacher **ret_attacher);
/* Detaches everything. */
void mt_attacher_free(struct mt_attacher *attacher);

/*
 * Attach the probes to the file open at fd: all of them, or none and -errno. What the kernel says
 * is only so just now is tried again for a second.
 */
int mt_attacher_attach(struct mt_attacher *attacher, int fd, const struct mt_probe *probes,
		       size_t n);

#endif
