#include "report/packages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/* Lists say /lib/... where the merged file is /usr/lib/..., and the other way round. */
static const char *without_usr(const char *path)
{
	return !strncmp(path, "/usr/", 5) ? path + 4 : path;
}

/* The package of "libc6:amd64.list". */
static char *package_name(const char *list)
{
	return strndup(list, strcspn(list, ":") < strlen(list) ? strcspn(list, ":") :
			     strlen(list) - strlen(".list"));
}

static int search_list(FILE *in, const char *list, const char *const *paths, size_t n,
		       char **packages)
{
	char *line = NULL;
	size_t cap = 0, i;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &cap, in)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		for (i = 0; i < n && !err; i++) {
			if (packages[i] || strcmp(without_usr(line), without_usr(paths[i])))
				continue;
			packages[i] = package_name(list);
			if (!packages[i])
				err = -ENOMEM;
		}
	}
	free(line);
	return err;
}

static int is_list(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 5 && !strcmp(entry->d_name + len - 5, ".list");
}

int mt_packages_find(const char *dir, const char *const *paths, size_t n, char **ret_packages)
{
	struct dirent **lists;
	int n_lists, i, dir_fd, fd, err = 0;
	FILE *in;

	memset(ret_packages, 0, n * sizeof(*ret_packages));
	if (!n)
		return 0;
	dir_fd = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (dir_fd < 0)
		return 0;
	/* Sorted: should two lists claim a file, the answer is always the same. */
	n_lists = scandir(dir, &lists, is_list, alphasort);
	for (i = 0; i < n_lists; i++) {
		fd = err ? -1 : openat(dir_fd, lists[i]->d_name, O_RDONLY | O_CLOEXEC);
		in = fd < 0 ? NULL : fdopen(fd, "r");
		if (in) {
			err = search_list(in, lists[i]->d_name, paths, n, ret_packages);
			fclose(in);
		} else if (fd >= 0) {
			close(fd);
		}
		free(lists[i]);
	}
	if (n_lists >= 0)
		free(lists);
	close(dir_fd);
	return err;
}
