#include "record/executed.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "common/compat.h"
#include "record/elf_dynamic.h"

#define SCRIPTS_MAX 5		/* one leads to the next; as many as Linux follows */
#define SCRIPT_LINE_MAX 256	/* BINPRM_BUF_SIZE of include/uapi/linux/binfmts.h */
#define PIECE 256

/* A string of the process. Read in pieces that cross no page: what lies behind may be nothing. */
static int read_string(uint32_t pid, uint64_t addr, char buf[PATH_MAX])
{
	struct iovec local, remote;
	size_t used = 0, len;
	ssize_t n;

	while (used < PATH_MAX) {
		len = PIECE - addr % PIECE;
		len = len < PATH_MAX - used ? len : PATH_MAX - used;
		local = (struct iovec){ buf + used, len };
		remote = (struct iovec){ (void *)(uintptr_t)addr, len };
		n = process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0);
		if (n <= 0)
			return n ? -errno : -EFAULT;
		if (memchr(buf + used, '\0', n))
			return 0;
		used += n;
		addr += n;
	}
	return -ENAMETOOLONG;
}

/* What a link of /proc/PID leads to. */
static int read_link(uint32_t pid, const char *name, char buf[PATH_MAX])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	n = readlink(path, buf, PATH_MAX - 1);
	if (n < 0)	/* it is gone, rather than the file */
		return errno == ENOENT ? -ESRCH : -errno;
	buf[n] = '\0';
	return 0;
}

/* A folder of the process's as it names it itself: from its root. */
static int folder_name(uint32_t pid, const char *link, char buf[PATH_MAX])
{
	char root[PATH_MAX];
	size_t len;
	int err = read_link(pid, "root", root);

	if (!err)
		err = read_link(pid, link, buf);
	if (err)
		return err;
	len = strlen(root);
	if (len == 1)	/* "/" */
		return 0;
	if (strncmp(buf, root, len) != 0 || (buf[len] && buf[len] != '/'))
		return -EXDEV;
	memmove(buf, buf + len, strlen(buf + len) + 1);
	return 0;
}

/* What has been found, opened for reading if it is a regular file. Takes fd. */
static int reopen(int fd)
{
	char path[32];
	struct stat st;
	int opened = -EACCES;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (opened < 0)
			opened = -errno;
	}
	close(fd);
	return opened;
}

static int open_from_root(uint32_t pid, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char path[32];
	int root, fd;

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	fd = syscall(SYS_openat2, root, name, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd < 0 ? fd : reopen(fd);
}

/* Descriptor or link of the process itself: to us these are links like any other. */
static int open_link(uint32_t pid, const char *link)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, link);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : reopen(fd);
}

/* "exe" of /proc/self/exe, and "fd/N" of its like; NULL: it is no such name. */
static const char *own_link(const char *name)
{
	static const char self[] = "/proc/self/";
	const char *link = name + sizeof(self) - 1;

	if (strncmp(name, self, sizeof(self) - 1) != 0)
		return NULL;
	if (strcmp(link, "exe") == 0)
		return link;
	return strncmp(link, "fd/", 3) == 0 && link[3] && strlen(link) < 16 &&
	       link[3 + strspn(link + 3, "0123456789")] == '\0' ? link : NULL;
}

/* A name relative to the folder that link leads to. */
static int open_named(uint32_t pid, const char *link, const char *name)
{
	const char *own = own_link(name);
	char folder[PATH_MAX], path[PATH_MAX];
	int err;

	if (own)
		return open_link(pid, own);
	if (*name == '/')
		return open_from_root(pid, name);
	err = folder_name(pid, link, folder);
	if (err)
		return err;
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return open_from_root(pid, path);
}

static int open_asked(const struct mt_ring_exec_request *request)
{
	uint32_t pid = request->request.pid;
	char link[32] = "cwd", name[PATH_MAX] = "";
	int err = 0;

	if (request->folder != MT_EXEC_CWD && request->folder != (uint32_t)AT_FDCWD)
		snprintf(link, sizeof(link), "fd/%u", (uint32_t)request->folder);
	if (request->name)
		err = read_string(pid, request->name, name);
	if (err)
		return err;
	if (*name)
		return open_named(pid, link, name);
	return strcmp(link, "cwd") == 0 ? -ENOENT : open_link(pid, link);
}

/* The first word behind #!, "" if there is none, in line. false: it is no script. */
static bool read_script(int fd, char line[SCRIPT_LINE_MAX + 1])
{
	ssize_t n = pread(fd, line, SCRIPT_LINE_MAX, 0);
	size_t len;
	char *word;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = line + 2 + strspn(line + 2, " \t");
	len = strcspn(word, " \t");
	memmove(line, word, len);
	line[len] = '\0';
	return true;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG);
}

/* Of a program that cannot be read as one the linker is not known: then it is stopped. */
static int tell_linker(uint32_t pid, int fd, mt_executed_fn fn, void *arg)
{
	struct mt_elf_dynamic *dynamic;
	int linker = -ENOENT, err = mt_elf_dynamic_read(fd, &dynamic);
	bool has;

	if (err)
		return -EINVAL;
	has = *mt_elf_dynamic_interpreter(dynamic);
	if (has)
		linker = open_named(pid, "cwd", mt_elf_dynamic_interpreter(dynamic));
	mt_elf_dynamic_free(dynamic);
	if (!has || linker < 0)
		return has ? linker : 0;
	fn(arg, linker);
	close(linker);
	return 0;
}

int mt_executed_each(const struct mt_ring_exec_request *request, mt_executed_fn fn, void *arg)
{
	uint32_t pid = request->request.pid;
	char line[SCRIPT_LINE_MAX + 1];
	int fd = open_asked(request), i, err;

	for (i = 0; fd >= 0 && i <= SCRIPTS_MAX && read_script(fd, line); i++) {
		close(fd);
		fd = *line ? open_named(pid, "cwd", line) : -ENOEXEC;
	}
	if (fd < 0)
		return fd;
	err = is_elf(fd) ? 0 : -ENOEXEC;
	if (!err) {
		fn(arg, fd);
		err = tell_linker(pid, fd, fn, arg);
	}
	close(fd);
	return err;
}
