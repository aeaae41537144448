/*
 * report/jit.h - names of code that processes compiled at run time, from the files they left.
 *
 * /tmp/perf-PID.map, with the number that the process knows itself by, is taken if it was last
 * written while that process ran, and by somebody who is believed: this user or root; root
 * believes its owner. A jitdump (jit-PID.dump) is known by having been mapped, like any file. Of
 * a pack, what was taken when it was made. Both are read on first use; that they are not there is
 * no fault.
 */
#ifndef MT_JIT_H
#define MT_JIT_H

#include "report/module.h"

struct mt_jit;
struct mt_session;

/* Bytes of all such files together. */
#define MT_JIT_BYTES_MAX (512ull << 20)

/* Borrows session, and options' strings. 0 or -ENOMEM. */
int mt_jit_new(const struct mt_session *session, const struct mt_module_options *options,
	       struct mt_jit **ret_jit);
void mt_jit_free(struct mt_jit *jit);

/*
 * What was at addr of this process at this time: its id, not 0, or 0. A forked process has what its
 * parent had. *ret_lasting: the answer is the same for all times.
 */
uint32_t mt_jit_find(struct mt_jit *jit, uint32_t process, uint64_t addr, uint64_t time,
		     bool *ret_lasting);
/* As in the file. Lives as long as jit. */
const char *mt_jit_name(const struct mt_jit *jit, uint32_t id);
/* Where addr in it was written, if a dump says so. Lives as long as jit. */
bool mt_jit_line(const struct mt_jit *jit, uint32_t id, uint64_t addr, const char **ret_file,
		 uint32_t *ret_line);

struct mt_jit_file {
	const char *path;
	enum mt_module_status status;
	const char *reason;	/* if not verified */
	const uint8_t *bytes;
	size_t size;
};

/* A process's map, to be packed. false: there is none. Bytes live as long as jit. */
bool mt_jit_map(struct mt_jit *jit, uint32_t process, struct mt_jit_file *ret_file);
/* A jitdump that was mapped, by its index in the session; likewise. */
bool mt_jit_dump(struct mt_jit *jit, uint32_t file, struct mt_jit_file *ret_file);
/* What stands for a process's map in a pack. path is a buffer of MT_JIT_PATH_MAX. */
#define MT_JIT_PATH_MAX 32
void mt_jit_map_key(const struct mt_jit *jit, uint32_t process, char *path,
		    struct mt_file *ret_key);

/* A map that was wanted for a name and is not believed: false: none, or not wanted. */
bool mt_jit_refused(const struct mt_jit *jit, uint32_t process, const char **ret_path,
		    const char **ret_reason);

#endif
