/*
 * launch.c FOLDER - execute FOLDER/WAY-KIND, for every kind of program that is there, in every way
 * there is, and say what wait() has to say of it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const kinds[] = { "glibc", "musl", "static", "musl-static" };
static char path[4096];

static pid_t by_execve(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(path, argv, environ);
		_exit(127);
	}
	return pid;
}

static pid_t by_vfork(char **argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv(path, argv);
		_exit(127);
	}
	return pid;
}

static pid_t by_spawn(char **argv)
{
	pid_t pid;

	return posix_spawn(&pid, path, NULL, NULL, argv, environ) ? -1 : pid;
}

/* The third folder of PATH has it; main() has set that. */
static pid_t by_spawnp(char **argv)
{
	pid_t pid;

	return posix_spawnp(&pid, strrchr(path, '/') + 1, NULL, NULL, argv, environ) ? -1 : pid;
}

static pid_t by_execvp(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		execvp(strrchr(path, '/') + 1, argv);
		_exit(127);
	}
	return pid;
}

static pid_t by_fexecve(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		fexecve(open(path, O_RDONLY | O_CLOEXEC), argv, environ);
		_exit(127);
	}
	return pid;
}

/* Relative to a folder that only the child is in. */
static pid_t by_relative(char **argv)
{
	char *name = strrchr(path, '/');
	pid_t pid = fork();

	if (pid == 0) {
		*name = '\0';
		if (chdir(path))
			_exit(126);
		execl(name + 1, argv[0], (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* A script of that name, whose interpreter the program is. */
static pid_t by_script(char **argv)
{
	char line[4096];
	FILE *script;

	snprintf(line, sizeof(line), "%s.script", path);
	script = fopen(line, "w");
	if (!script)
		return -1;
	fprintf(script, "#! %s\n", path);
	fclose(script);
	(void)argv;
	return chmod(line, 0755) || posix_spawn(&(pid_t){ 0 }, line, NULL, NULL,
						(char *[]){ line, NULL }, environ) ? -1 : 0;
}

static pid_t by_system(char **argv)
{
	(void)argv;
	return system(path) ? -1 : 0;
}

static const struct way {
	const char *name;
	pid_t (*start)(char **argv);
} ways[] = {
	{ "execve", by_execve }, { "vfork", by_vfork }, { "spawn", by_spawn },
	{ "spawnp", by_spawnp }, { "execvp", by_execvp }, { "fexecve", by_fexecve },
	{ "relative", by_relative }, { "script", by_script }, { "system", by_system },
};

static void wait_for(pid_t pid)
{
	int status = 0;
	pid_t got;

	if (pid < 0) {
		puts("not started");
		return;
	}
	do {
		got = waitpid(pid ? pid : -1, &status, WUNTRACED | WCONTINUED);
		if (got < 0)
			return;	/* system() has waited for it */
		puts(WIFSTOPPED(status) ? "stopped" : WIFCONTINUED(status) ? "continued" :
		     WIFEXITED(status) && !WEXITSTATUS(status) ? "ended" : "failed");
	} while (!WIFEXITED(status) && !WIFSIGNALED(status));
}

int main(int argc, char **argv)
{
	char search[4096];
	size_t i, k;

	if (argc != 2)
		return 2;
	snprintf(search, sizeof(search), "/nowhere:/bin:%s", argv[1]);
	if (setenv("PATH", search, 1))
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			snprintf(path, sizeof(path), "%s/%s-%s", argv[1], ways[i].name, kinds[k]);
			if (!access(path, X_OK))
				wait_for(ways[i].start((char *[]){ path, NULL }));
		}
	}
	return 0;
}
