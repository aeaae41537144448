#include "report/module_file.h"

#include "report/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#define VDSO_BYTES_MAX (1u << 20)
#define NS_PER_S 1000000000ull
/* A file's times come from the kernel's tick, up to this much behind its clock. */
#define CLOCK_STEP (10 * 1000000ull)

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n >= m && !strcmp(s + n - m, tail);
}

/* What the kernel tells of one mapping of this process. */
struct mapping {
	uint64_t size;
	unsigned int dev_major;
	unsigned int dev_minor;
	uint64_t ino;
};

/* The mapping at start, from /proc/self/maps. False: not found. */
static bool find_mapping(uint64_t start, struct mapping *ret_mapping)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t low, high;
	char line[512];
	bool found = false;

	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x %" SCNu64, &low, &high,
			   &ret_mapping->dev_major, &ret_mapping->dev_minor,
			   &ret_mapping->ino) == 5 && low == start && high > low) {
			ret_mapping->size = high - low;
			found = true;
		}
	}
	fclose(maps);
	return found;
}

static bool same_file(const struct mt_file *file, const struct stat *st)
{
	return major(st->st_dev) == file->dev_major && minor(st->st_dev) == file->dev_minor &&
	       st->st_ino == file->ino;
}

/*
 * On overlay file systems stat() and a mapping can give one file different devices and
 * inodes, and the recorded ones are a mapping's. So map it, without looking inside.
 */
static bool same_when_mapped(const struct mt_file *file, int fd)
{
	struct mapping mapping;
	bool same;
	void *at;

	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	same = find_mapping((uintptr_t)at, &mapping) && mapping.dev_major == file->dev_major &&
	       mapping.dev_minor == file->dev_minor && mapping.ino == file->ino;
	munmap(at, 4096);
	return same;
}

static void describe_change(const struct mt_file *file, const struct stat *st, char *reason)
{
	if (!S_ISREG(st->st_mode))
		snprintf(reason, MT_REASON_MAX, "not a file any more");
	else if (major(st->st_dev) == file->dev_major && minor(st->st_dev) == file->dev_minor)
		snprintf(reason, MT_REASON_MAX, "inode %" PRIu64 ", recorded %" PRIu64,
			 (uint64_t)st->st_ino, file->ino);
	else
		snprintf(reason, MT_REASON_MAX,
			 "device %u:%u inode %" PRIu64 ", recorded %u:%u inode %" PRIu64,
			 major(st->st_dev), minor(st->st_dev), (uint64_t)st->st_ino,
			 file->dev_major, file->dev_minor, file->ino);
}

/*
 * Inode numbers are used again soon after a file is removed; the generation tells the
 * two apart on file systems that have one.
 */
static bool same_generation(const struct mt_file *file, int fd, char *reason)
{
	long value = 0;
	uint32_t generation;

	if (!file->generation || ioctl(fd, FS_IOC_GETVERSION, &value) < 0)
		return true;
	generation = (uint32_t)value;
	if (!generation || generation == (uint32_t)file->generation)
		return true;
	snprintf(reason, MT_REASON_MAX,
		 "inode %" PRIu64 " used again (generation %" PRIu32 ", recorded %" PRIu64 ")",
		 file->ino, generation, file->generation);
	return false;
}

bool mt_module_file_is_after(const struct timespec *time, uint64_t ns)
{
	if (time->tv_sec < 0)
		return false;
	if ((uint64_t)time->tv_sec > UINT64_MAX / NS_PER_S - 1)
		return true;
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec > ns;
}

/*
 * Were contents that nobody noted written since they were first mapped? Anybody can set the
 * modification time, forward or back, but then the change time says when, and nobody sets that
 * one. So what has an old change time is as it was, whatever else it claims. A new one alone
 * proves nothing: chmod, a new hard link or a removed one make it too.
 */
static bool same_contents(const struct mt_file *file, const struct mt_module_options *options,
			  const struct stat *st, char *reason)
{
	uint64_t since = 0, limit;

	if (file->noted || !options->start_realtime)
		return true;
	/* Mapped before the recording: when is not known, so at its start. */
	if (file->mapped > options->start_time)
		since = file->mapped - options->start_time;
	if (since > UINT64_MAX - CLOCK_STEP ||
	    options->start_realtime > UINT64_MAX - CLOCK_STEP - since)
		return true;
	limit = options->start_realtime + since + CLOCK_STEP;
	if (!mt_module_file_is_after(&st->st_mtim, limit) ||
	    !mt_module_file_is_after(&st->st_ctim, limit))
		return true;
	snprintf(reason, MT_REASON_MAX, "modified after it was mapped");
	return false;
}

static enum mt_module_status open_failed(int error, char *reason)
{
	if (error == ENOENT || error == ENOTDIR) {
		snprintf(reason, MT_REASON_MAX, "no such file");
		return MT_MODULE_GONE;
	}
	snprintf(reason, MT_REASON_MAX, "%s", strerror(error));
	return MT_MODULE_UNREADABLE;
}

static void put_hex(const uint8_t *id, size_t n, char hex[2 * MT_BUILD_ID_MAX + 1])
{
	size_t i;

	hex[0] = 0;
	for (i = 0; i < n && i < MT_BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
}

bool mt_module_file_id_fits(const struct mt_file *file, const uint8_t *id, size_t n, char *reason)
{
	char have[2 * MT_BUILD_ID_MAX + 1], want[2 * MT_BUILD_ID_MAX + 1];

	if (n && n == file->n_build_id && !memcmp(id, file->build_id, n))
		return true;
	put_hex(id, n, have);
	put_hex(file->build_id, file->n_build_id, want);
	if (!n)
		snprintf(reason, MT_REASON_MAX, "no build-id here; build-id %.64s would fit", want);
	else
		snprintf(reason, MT_REASON_MAX, "build-id %.64s here; build-id %.64s would fit",
			 have, want);
	return false;
}

/* "is elsewhere", for one that is refused: how to tell if it is at hand. */
static void add_wanted(const struct mt_file *file, char *reason)
{
	char want[2 * MT_BUILD_ID_MAX + 1];
	size_t n = strlen(reason);

	if (!file->n_build_id)
		return;
	put_hex(file->build_id, file->n_build_id, want);
	snprintf(reason + n, MT_REASON_MAX - n, "; build-id %.64s would fit, with --sysroot", want);
}

/* openat2(2), which not every seccomp filter lets through; identity is proved in any case. */
int mt_module_file_open_in(const char *sysroot, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int root = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root, path + strspn(path, "/"), how.flags);
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd;
}

enum mt_module_status mt_module_file_open_below(const char *sysroot, const struct mt_file *file,
						int *ret_fd, char reason[MT_REASON_MAX])
{
	static const char deleted[] = " (deleted)";
	char path[PATH_MAX];
	size_t n = strlen(file->path);
	struct stat st;
	int fd;

	if (file->path[0] != '/' || file->path[1] == '/') {
		snprintf(reason, MT_REASON_MAX, "not backed by a file");
		return MT_MODULE_NO_FILE;
	}
	if (!file->n_build_id) {
		snprintf(reason, MT_REASON_MAX,
			 "no build-id was recorded that would prove it");
		return MT_MODULE_UNREADABLE;
	}
	if (ends_with(file->path, deleted))
		n -= sizeof(deleted) - 1;
	if (snprintf(path, sizeof(path), "%.*s", (int)n, file->path) >= (int)sizeof(path))
		return open_failed(ENAMETOOLONG, reason);
	fd = mt_module_file_open_in(sysroot, path);
	if (fd < 0)
		return open_failed(-fd, reason);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		snprintf(reason, MT_REASON_MAX, "not a file there");
		close(fd);
		return MT_MODULE_CHANGED;
	}
	*ret_fd = fd;
	return MT_MODULE_VERIFIED;
}

static bool written_since(const struct mt_file *file, const struct stat *st)
{
	return file->noted &&
	       (file->size != (uint64_t)st->st_size ||
		file->mtime != st->st_mtim.tv_sec * 1000000000ull + st->st_mtim.tv_nsec);
}

static enum mt_module_status open_as(const char *path, const struct mt_file *file,
				     const struct mt_module_options *options, int *ret_fd,
				     bool *ret_written, char reason[MT_REASON_MAX])
{
	struct stat st;
	int fd;

	if (!file->ino || path[0] != '/' || path[1] == '/') {
		snprintf(reason, MT_REASON_MAX, "not backed by a file");
		return MT_MODULE_NO_FILE;
	}
	if (ends_with(path, " (deleted)")) {
		snprintf(reason, MT_REASON_MAX, "deleted before it was mapped");
		return MT_MODULE_GONE;
	}

	/* By name first: opening a device or a FIFO that now sits there can have effects. */
	if (stat(path, &st) < 0)
		return open_failed(errno, reason);
	if (!S_ISREG(st.st_mode)) {
		describe_change(file, &st, reason);
		return MT_MODULE_CHANGED;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return open_failed(errno, reason);

	/* Of what is open, for it may have been replaced in between. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (!same_file(file, &st) && !same_when_mapped(file, fd))) {
		describe_change(file, &st, reason);
		add_wanted(file, reason);
		close(fd);
		return MT_MODULE_CHANGED;
	}
	*ret_written = written_since(file, &st);
	if (!same_generation(file, fd, reason) || !same_contents(file, options, &st, reason)) {
		close(fd);
		return MT_MODULE_CHANGED;
	}
	*ret_fd = fd;
	return MT_MODULE_VERIFIED;
}

enum mt_module_status mt_module_file_open(const struct mt_file *file,
					  const struct mt_module_options *options, int *ret_fd,
					  bool *ret_written, char reason[MT_REASON_MAX])
{
	enum mt_module_status status = open_as(file->path, file, options, ret_fd, ret_written,
					       reason);
	char other[MT_REASON_MAX];

	if (status == MT_MODULE_VERIFIED || status == MT_MODULE_NO_FILE || !file->seen_as ||
	    open_as(file->seen_as, file, options, ret_fd, ret_written, other) !=
	    MT_MODULE_VERIFIED)
		return status;
	return MT_MODULE_VERIFIED;
}

enum mt_module_status mt_module_file_vdso(const char *kernel, uint8_t **ret_image,
					  size_t *ret_size, char reason[MT_REASON_MAX])
{
	unsigned long start = getauxval(AT_SYSINFO_EHDR);
	struct utsname uts = {};
	struct mapping mapping;
	uint8_t *image;

	if (uname(&uts) < 0 || !kernel || strcmp(uts.release, kernel)) {
		snprintf(reason, MT_REASON_MAX, "kernel %.64s here, recorded under %.64s",
			 uts.release, kernel ? kernel : "an unknown one");
		return MT_MODULE_NO_FILE;
	}
	if (!start || !find_mapping(start, &mapping) || mapping.size > VDSO_BYTES_MAX) {
		snprintf(reason, MT_REASON_MAX, "this process has none");
		return MT_MODULE_NO_FILE;
	}
	image = malloc(mapping.size);
	if (!image) {
		snprintf(reason, MT_REASON_MAX, "%s", strerror(ENOMEM));
		return MT_MODULE_UNREADABLE;
	}
	memcpy(image, (const void *)start, mapping.size);
	*ret_image = image;
	*ret_size = mapping.size;
	return MT_MODULE_VERIFIED;
}

int mt_module_file_open_regular(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int mt_module_file_crc(int fd, uint32_t *ret_crc)
{
	uint32_t table[256];
	uint8_t chunk[16384];
	uint32_t crc = ~0u;
	off_t offset = 0;
	ssize_t n, i;
	uint32_t c;
	int bit;

	for (c = 0; c < 256; c++) {
		table[c] = c;
		for (bit = 0; bit < 8; bit++)
			table[c] = (table[c] >> 1) ^ (table[c] & 1 ? 0xedb88320u : 0);
	}
	while ((n = pread(fd, chunk, sizeof(chunk), offset)) != 0) {
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		for (i = 0; i < n; i++)
			crc = (crc >> 8) ^ table[(crc ^ chunk[i]) & 0xff];
		offset += n;
	}
	*ret_crc = ~crc;
	return 0;
}

int mt_module_file_build_id_path(const char *debug_dir, const uint8_t *id, size_t id_len,
				 char *path, size_t size)
{
	char hex[2 * MT_BUILD_ID_MAX + 1];
	size_t i;
	int n;

	if (id_len < 2 || id_len > MT_BUILD_ID_MAX)
		return -ENAMETOOLONG;
	for (i = 0; i < id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	n = snprintf(path, size, "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int mt_module_file_link_path(const char *debug_dir, const char *module_path, const char *name,
			     unsigned int index, char *path, size_t size)
{
	const char *slash = strrchr(module_path, '/');
	int folder = slash ? (int)(slash - module_path) : 0;
	int n;

	switch (index) {
	case 0:
		n = snprintf(path, size, "%.*s/%s", folder, module_path, name);
		break;
	case 1:
		n = snprintf(path, size, "%.*s/.debug/%s", folder, module_path, name);
		break;
	case 2:
		n = snprintf(path, size, "%s%.*s/%s", debug_dir, folder, module_path, name);
		break;
	default:
		return -ENOENT;
	}
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
