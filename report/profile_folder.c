#include "report/profile_folder.h"

#include "report/new_file.h"
#include "report/profile_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stream that remembers why it could not be written; stdio alone forgets. */
struct sink {
	int fd;
	int err;
};

static ssize_t sink_write(void *cookie, const char *bytes, size_t n)
{
	struct sink *sink = cookie;
	size_t done = 0;
	ssize_t written;

	while (done < n) {
		written = write(sink->fd, bytes + done, n - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			sink->err = -errno;
			return 0;
		}
		done += written;
	}
	return done;
}

static FILE *sink_open(struct sink *sink, int folder, const char *name)
{
	static const cookie_io_functions_t functions = { .write = sink_write };
	FILE *out;

	sink->err = 0;
	sink->fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (sink->fd < 0) {
		sink->err = -errno;
		return NULL;
	}
	out = fopencookie(sink, "w", functions);
	if (!out) {
		sink->err = -ENOMEM;
		close(sink->fd);
		return NULL;
	}
	setvbuf(out, NULL, _IOFBF, 1 << 18);
	return out;
}

static int sink_close(struct sink *sink, FILE *out)
{
	fclose(out);
	if (close(sink->fd) < 0 && !sink->err)
		sink->err = -errno;
	return sink->err;
}

static int write_part(const struct mt_profile_parts *parts, const struct mt_profile_part *part,
		      int folder, bool unwind)
{
	struct sink sink;
	char *name;
	FILE *out;

	if (asprintf(&name, "%s%s", part->key, unwind ? MT_PROFILE_UNWIND : MT_PROFILE_SYMBOLS) < 0)
		return -ENOMEM;
	out = sink_open(&sink, folder, name);
	free(name);
	if (!out)
		return sink.err;
	if (unwind)
		mt_profile_put_unwind(parts, part, out);
	else
		mt_profile_put_symbols(parts, part, out);
	return sink_close(&sink, out);
}

static int write_all(int folder, struct mt_session *session, struct mt_symbolizer *symbolizer,
		     const char *integration_name, const char *integration_version)
{
	struct mt_profile_parts parts;
	struct sink sink;
	FILE *out;
	size_t i;
	int err, close_err;

	err = mt_profile_parts_load(&parts, session, symbolizer);
	if (err)
		return err;
	for (i = 0; i < parts.n && !err; i++) {
		if (parts.parts[i].symbols)
			err = write_part(&parts, &parts.parts[i], folder, false);
		if (!err && parts.parts[i].unwind)
			err = write_part(&parts, &parts.parts[i], folder, true);
	}
	if (err)
		goto out_release;
	out = sink_open(&sink, folder, MT_PROFILE_METADATA);
	if (!out) {
		err = sink.err;
		goto out_release;
	}
	err = mt_profile_put_metadata(&parts, integration_name, integration_version, out);
	close_err = sink_close(&sink, out);
	if (close_err)
		err = close_err;

out_release:
	mt_profile_parts_release(&parts);
	return err;
}

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n > m && !strcmp(s + n - m, tail);
}

/* Is this the name of a file that a profile folder is made of? */
static bool is_ours(const char *name)
{
	size_t digits = 0;

	if (!strcmp(name, MT_PROFILE_METADATA))
		return true;
	while (isdigit((unsigned char)name[digits]))
		digits++;
	return digits && !strncmp(name + digits, "__", 2) &&
	       (ends_with(name, MT_PROFILE_SYMBOLS) || ends_with(name, MT_PROFILE_UNWIND));
}

/*
 * Remove the folder at path: our files are deleted, others moved to the folder keep (-1: there are
 * none). A name that keep has already stays, and so does the folder then.
 */
static void remove_folder(const char *path, int keep)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (is_ours(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
		else if (keep >= 0)
			renameat2(dirfd(dir), entry->d_name, keep, entry->d_name, RENAME_NOREPLACE);
	}
	closedir(dir);
	rmdir(path);
}

/* 0: nothing is there; 1: a folder that may be replaced; -ENOTEMPTY, -ENOTDIR, -errno. */
static int check_target(const char *path)
{
	struct dirent *entry;
	bool empty = true;
	struct stat st;
	DIR *dir;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = opendir(path);
	if (!dir)
		return -errno;
	if (!fstatat(dirfd(dir), MT_PROFILE_METADATA, &st, AT_SYMLINK_NOFOLLOW)) {
		closedir(dir);
		return 1;
	}
	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(dir);
	return empty ? 1 : -ENOTEMPTY;
}

/* Put the finished folder at temporary, open as folder, into target's place. */
static int install(const char *temporary, int folder, const char *target)
{
	int there = check_target(target);

	if (there < 0)
		return there;
	if (!there)
		return renameat2(AT_FDCWD, temporary, AT_FDCWD, target, RENAME_NOREPLACE) < 0 ?
		       -errno : 0;
	if (!renameat2(AT_FDCWD, temporary, AT_FDCWD, target, RENAME_EXCHANGE)) {
		/* What was at target is at temporary now. */
		remove_folder(temporary, folder);
		return 0;
	}
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system that cannot exchange: an instant without target, no half of one. */
	remove_folder(target, folder);
	return rename(temporary, target) < 0 ? -errno : 0;
}

/* The target with links followed and no slash at its end, so that it can be renamed. */
static int resolve(const char *dir, char target[PATH_MAX])
{
	size_t n = strlen(dir);

	if (!n)
		return -ENOENT;
	if (realpath(dir, target))
		return 0;
	if (errno != ENOENT)
		return -errno;
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(target, dir, n);
	target[n] = 0;
	return 0;
}

/* A new folder beside target, open in *ret_folder. */
static int make_temporary(const char *target, char temporary[PATH_MAX], int *ret_folder)
{
	int err = mt_temporary_name(target, temporary), folder;
	mode_t mask;

	if (err)
		return err;
	if (!mkdtemp(temporary))
		return -errno;
	/* mkdtemp makes it private; this one is like any other that the user makes. */
	mask = umask(0);
	umask(mask);
	folder = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || fchmod(folder, 0777 & ~mask) < 0) {
		err = -errno;
		if (folder >= 0)
			close(folder);
		rmdir(temporary);
		return err;
	}
	*ret_folder = folder;
	return 0;
}

int mt_profile_folder_write(const char *dir, struct mt_session *session,
			    struct mt_symbolizer *symbolizer, const char *integration_name,
			    const char *integration_version)
{
	char target[PATH_MAX], temporary[PATH_MAX];
	int err, folder = -1;

	err = resolve(dir, target);
	if (!err)
		err = check_target(target);
	if (err < 0)
		return err;
	err = make_temporary(target, temporary, &folder);
	if (err)
		return err;
	err = write_all(folder, session, symbolizer, integration_name, integration_version);
	if (!err)
		err = install(temporary, folder, target);
	if (err)
		remove_folder(temporary, -1);
	close(folder);
	return err;
}
