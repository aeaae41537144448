#include "record/closure.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

#include "record/elf_dynamic.h"
#include "record/ld_cache.h"

#define FILES_MAX 1024
#define SCRIPT_LINE_MAX 256	/* BINPRM_BUF_SIZE of include/uapi/linux/binfmts.h */

struct closure {
	char **files;		/* found so far; those from next on are still to be looked into */
	size_t n_files;
	size_t next;
	struct mt_ld_cache *cache;
	int err;
};

/* /lib and /usr/lib come after the multiarch folders in Debian's ld.so. */
static const char *const default_folders[] = {
#if defined(__x86_64__)
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
	"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
};

static bool add_file(struct closure *closure, const char *path)
{
	char **files, *real;
	size_t i;

	if (closure->err || closure->n_files == FILES_MAX || access(path, R_OK))
		return false;
	real = realpath(path, NULL);
	if (!real)
		return false;
	for (i = 0; i < closure->n_files; i++) {
		if (strcmp(closure->files[i], real) == 0) {
			free(real);
			return true;
		}
	}
	files = reallocarray(closure->files, closure->n_files + 1, sizeof(*files));
	if (!files) {
		free(real);
		closure->err = -ENOMEM;
		return false;
	}
	closure->files = files;
	closure->files[closure->n_files++] = real;
	return true;
}

typedef bool (*add_fn)(struct closure *closure, const char *path);

/* A dynamic linker passes over those for 32-bit programs, which are beside the others. */
static bool is_64bit(const char *path)
{
	unsigned char ident[EI_NIDENT];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
		  ident[EI_CLASS] == ELFCLASS64 && !memcmp(ident, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return is;
}

static bool add_library_file(struct closure *closure, const char *path)
{
	return is_64bit(path) && add_file(closure, path);
}

/* folder/name, where folder is folder[0..len). */
static bool add_in_folder(struct closure *closure, const char *folder, size_t len,
			  const char *name, add_fn add)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, name) >= (int)sizeof(path))
		return false;
	return add(closure, path);
}

/* The part of path before its last slash. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* Try name in one folder of a search path; $ORIGIN and ${ORIGIN} stand for origin's folder. */
static bool add_in_search_folder(struct closure *closure, const char *folder, size_t len,
				 const char *origin, const char *name)
{
	static const char *const tokens[] = { "$ORIGIN", "${ORIGIN}" };
	char expanded[PATH_MAX];
	size_t i, token_len;

	for (i = 0; i < MT_ARRAY_SIZE(tokens); i++) {
		token_len = strlen(tokens[i]);
		if (len < token_len || strncmp(folder, tokens[i], token_len) != 0)
			continue;
		if (snprintf(expanded, sizeof(expanded), "%.*s%.*s", (int)folder_length(origin),
			     origin, (int)(len - token_len), folder + token_len) >=
		    (int)sizeof(expanded))
			return false;
		return add_in_folder(closure, expanded, strlen(expanded), name, add_library_file);
	}
	return len ? add_in_folder(closure, folder, len, name, add_library_file) : false;
}

/* Try name in the folders of a colon- (or semicolon-) separated path. */
static bool add_in_path(struct closure *closure, const char *path, const char *origin,
			const char *name)
{
	size_t len;

	for (; *path; path += len + (path[len] != '\0')) {
		len = strcspn(path, ":;");
		if (add_in_search_folder(closure, path, len, origin, name))
			return true;
	}
	return false;
}

static bool add_from_cache(struct closure *closure, const char *name)
{
	const char *path;
	bool found = false;
	size_t i;

	/* Which of several ld.so takes depends on the processor: all of them, then. */
	for (i = 0; closure->cache && (path = mt_ld_cache_find(closure->cache, name, i)); i++)
		found |= add_library_file(closure, path);
	return found;
}

/* A DT_NEEDED or LD_PRELOAD name, searched as ld.so(8) says. */
static void add_library(struct closure *closure, const struct mt_elf_dynamic *dynamic,
			const char *origin, const char *name)
{
	const char *library_path = getenv("LD_LIBRARY_PATH");
	const char *runpath = dynamic ? mt_elf_dynamic_runpath(dynamic) : "";
	size_t i;

	if (strchr(name, '/')) {
		add_library_file(closure, name);
		return;
	}
	if (dynamic && !*runpath &&
	    add_in_path(closure, mt_elf_dynamic_rpath(dynamic), origin, name))
		return;
	if (library_path && add_in_path(closure, library_path, origin, name))
		return;
	if (add_in_path(closure, runpath, origin, name))
		return;
	if (add_from_cache(closure, name))
		return;
	for (i = 0; i < MT_ARRAY_SIZE(default_folders); i++)
		if (add_in_folder(closure, default_folders[i], strlen(default_folders[i]), name,
				  add_library_file))
			return;
}

static void add_command(struct closure *closure, const char *name)
{
	const char *path = getenv("PATH");
	size_t len;

	if (strchr(name, '/')) {
		add_file(closure, name);
		return;
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path += len + (path[len] != '\0')) {
		len = strcspn(path, ":");
		if (add_in_folder(closure, len ? path : ".", len ? len : 1, name, add_file))
			return;
	}
}

/* The interpreter of a #! script, and what `env NAME` would execute. false: no script. */
static bool add_script(struct closure *closure, int fd)
{
	char line[SCRIPT_LINE_MAX + 1], *interpreter, *argument, *rest;
	ssize_t n = pread(fd, line, SCRIPT_LINE_MAX, 0);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	interpreter = strtok_r(line + 2, " \t", &rest);
	if (!interpreter)
		return true;
	add_file(closure, interpreter);
	argument = strtok_r(NULL, " \t", &rest);
	if (argument && strcmp(argument, "-S") == 0)
		argument = strtok_r(NULL, " \t", &rest);
	if (argument && strcmp(interpreter + folder_length(interpreter), "/env") == 0)
		add_command(closure, argument);
	return true;
}

static void look_into(struct closure *closure, const char *path)
{
	struct mt_elf_dynamic *dynamic;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t i;

	if (fd < 0)
		return;
	if (!add_script(closure, fd) && mt_elf_dynamic_read(fd, &dynamic) == 0) {
		if (*mt_elf_dynamic_interpreter(dynamic))
			add_file(closure, mt_elf_dynamic_interpreter(dynamic));
		for (i = 0; i < mt_elf_dynamic_needed(dynamic); i++)
			add_library(closure, dynamic, path, mt_elf_dynamic_needed_at(dynamic, i));
		mt_elf_dynamic_free(dynamic);
	}
	close(fd);
}

static void add_preloads(struct closure *closure)
{
	const char *preload = getenv("LD_PRELOAD");
	char *copy, *name, *rest;

	if (!preload)
		return;
	copy = strdup(preload);
	if (!copy) {
		closure->err = -ENOMEM;
		return;
	}
	for (name = strtok_r(copy, ": ", &rest); name; name = strtok_r(NULL, ": ", &rest))
		add_library(closure, NULL, "", name);
	free(copy);
}

int mt_closure_each(const char *command, mt_closure_fn fn, void *arg)
{
	struct closure closure = {};
	size_t i;

	/* Without a cache the default folders remain. */
	mt_ld_cache_open("/etc/ld.so.cache", &closure.cache);
	add_command(&closure, command);
	add_preloads(&closure);
	while (!closure.err && closure.next < closure.n_files)
		look_into(&closure, closure.files[closure.next++]);

	for (i = 0; i < closure.n_files; i++) {
		if (!closure.err)
			fn(arg, closure.files[i]);
		free(closure.files[i]);
	}
	free(closure.files);
	mt_ld_cache_free(closure.cache);
	return closure.err;
}
