/* A profile folder as a place to find modules in. */
#include "report/profile_read_impl.h"

#include "common/error.h"
#include "report/profile_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of a regular file; -ENOENT: there is none. *ret_bytes is the caller's. */
static int read_file(int folder, const char *name, char **ret_bytes, size_t *ret_size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *bytes = NULL;
	size_t done = 0, size;
	ssize_t n;
	int err = fd < 0 ? -errno : 0;

	if (!err && fstat(fd, &st) < 0)
		err = -errno;
	if (!err && !S_ISREG(st.st_mode))
		err = -MT_E_CORRUPT;
	if (!err && (uint64_t)st.st_size > MT_PROFILE_FILE_MAX)
		err = -MT_E_LIMIT;
	if (err)
		goto out;
	size = (size_t)st.st_size;
	bytes = malloc(size + 1);
	if (!bytes) {
		err = -ENOMEM;
		goto out;
	}
	while (done < size && (n = read(fd, bytes + done, size - done)) != 0) {
		if (n < 0 && errno != EINTR) {
			err = -errno;
			goto out;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	*ret_bytes = bytes;
	*ret_size = done;
out:
	if (err)
		free(bytes);
	if (fd >= 0)
		close(fd);
	return err;
}

int mt_profile_modules_open(const char *dir, struct mt_profile_modules **ret_modules)
{
	int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), err;
	size_t size;
	char *text;

	if (folder < 0)
		return -errno;
	err = read_file(folder, MT_PROFILE_METADATA, &text, &size);
	if (!err)
		err = mt_profile_modules_parse(text, size, ret_modules);
	if (err)
		close(folder);
	else
		(*ret_modules)->folder = folder;
	return err;
}

size_t mt_profile_modules_count(const struct mt_profile_modules *modules)
{
	return modules->n;
}

const struct mt_profile_module *mt_profile_modules_find(const struct mt_profile_modules *modules,
							const uint8_t *id, size_t n)
{
	size_t low = 0, high = modules->n, mid;
	const struct mt_profile_module *module;

	while (low < high) {
		mid = low + (high - low) / 2;
		module = &modules->modules[mid];
		if (mt_profile_compare_ids(module->build_id, module->n_build_id, id, n) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	module = low < modules->n ? &modules->modules[low] : NULL;
	if (!n || !module || mt_profile_compare_ids(module->build_id, module->n_build_id, id, n))
		return NULL;
	return module;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const struct mt_profile_module *mt_profile_modules_named(const struct mt_profile_modules *modules,
							 const char *path)
{
	const struct mt_profile_module *found = NULL;
	const char *name = base_name(path);
	size_t i;

	for (i = 0; i < modules->n; i++) {
		if (!strcmp(modules->modules[i].path, path))
			return &modules->modules[i];
		if (!found && !strcmp(base_name(modules->modules[i].path), name))
			found = &modules->modules[i];
	}
	return found;
}

/* Keys name files: INDEX__BASENAME, which no path leads out of the folder by. */
static bool is_key(const char *key)
{
	return isdigit((unsigned char)*key) && strstr(key, "__") && !strchr(key, '/');
}

static int read_part(const struct mt_profile_modules *modules, const char *key, const char *suffix,
		     char **ret_bytes, size_t *ret_size)
{
	char *name;
	int err;

	if (asprintf(&name, "%s%s", key, suffix) < 0)
		return -ENOMEM;
	err = read_file(modules->folder, name, ret_bytes, ret_size);
	free(name);
	return err == -ENOENT ? 0 : err;
}

int mt_profile_module_image(const struct mt_profile_modules *modules,
			    const struct mt_profile_module *module, uint8_t **ret_bytes,
			    size_t *ret_size)
{
	char *symbols = NULL, *unwind = NULL;
	size_t n_symbols = 0, n_unwind = 0;
	int err;

	if (modules->folder < 0 || !is_key(module->key))
		return -MT_E_CORRUPT;
	err = read_part(modules, module->key, MT_PROFILE_SYMBOLS, &symbols, &n_symbols);
	if (!err)
		err = read_part(modules, module->key, MT_PROFILE_UNWIND, &unwind, &n_unwind);
	if (!err)
		err = mt_profile_image_build(module, symbols, n_symbols, (const uint8_t *)unwind,
					     n_unwind, ret_bytes, ret_size);
	free(symbols);
	free(unwind);
	return err;
}

const struct mt_profile_located *mt_profile_locate(const struct mt_profile_module *module,
						   uint64_t svma)
{
	size_t low = 0, high = module->n_located, mid;
	const struct mt_profile_located *located;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (module->located[mid].svma <= svma)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	located = &module->located[low - 1];
	return svma - located->svma < located->size ? located : NULL;
}
