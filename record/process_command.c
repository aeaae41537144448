#include "record/process_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* *ret_n: how many bytes, with a NUL behind the last argument. */
static int read_arguments(int pid, char *bytes, size_t *ret_n)
{
	char path[32];
	size_t n = 0;
	ssize_t got = 1;
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (got && n < MT_PROCESS_COMMAND_MAX) {
		got = read(fd, bytes + n, MT_PROCESS_COMMAND_MAX - n);
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	err = got < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	/* A process that shows a title of its own there may end it without one. */
	if (n && bytes[n - 1])
		bytes[n++] = 0;
	*ret_n = n;
	return 0;
}

static int split(struct mt_process_command *command, size_t n)
{
	size_t i, begin = 0;

	for (i = 0; i < n; i++)
		command->n_args += !command->bytes[i];
	command->args = calloc(command->n_args + 1, sizeof(*command->args));
	if (!command->args)
		return -ENOMEM;
	for (i = 0; i < command->n_args; i++) {
		command->args[i] = command->bytes + begin;
		begin += strlen(command->args[i]) + 1;
	}
	/* A title is shorter than what was there, and the rest is NULs. */
	while (command->n_args > 1 && !*command->args[command->n_args - 1])
		command->n_args--;
	return 0;
}

static char *read_cwd(int pid)
{
	char path[32], cwd[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
	n = readlink(path, cwd, sizeof(cwd));
	return strndup(cwd, n > 0 ? (size_t)n : 0);
}

int mt_process_command_read(int pid, struct mt_process_command *ret_command)
{
	struct mt_process_command command = { .bytes = malloc(MT_PROCESS_COMMAND_MAX + 1) };
	size_t n = 0;
	int err = command.bytes ? 0 : -ENOMEM;

	if (!err)
		err = read_arguments(pid, command.bytes, &n);
	if (!err)
		err = split(&command, n);
	if (!err) {
		command.cwd = read_cwd(pid);
		err = command.cwd ? 0 : -ENOMEM;
	}
	if (err) {
		mt_process_command_release(&command);
		return err;
	}
	*ret_command = command;
	return 0;
}

void mt_process_command_release(struct mt_process_command *command)
{
	free(command->bytes);
	free(command->args);
	free(command->cwd);
	memset(command, 0, sizeof(*command));
}
