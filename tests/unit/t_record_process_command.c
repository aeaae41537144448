/* The command line of a process as it shows it. */
#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/compat.h"
#include "record/process_command.h"

/* Runs arguments[0] in /proc until it is ended; has written a byte when this returns. */
static int start(char *const arguments[])
{
	int tube[2], pid;
	char byte;

	cr_assert_eq(pipe(tube), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(tube[1], STDOUT_FILENO);
		if (!chdir("/proc"))
			execv(arguments[0], arguments);
		_exit(127);
	}
	close(tube[1]);
	cr_assert_eq(read(tube[0], &byte, 1), 1);
	close(tube[0]);
	return pid;
}

static void end(int pid)
{
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

Test(process_command, arguments_and_folder)
{
	struct mt_process_command command;
	int pid = start((char *[]){ "/usr/bin/perl", "-e", "$| = 1; print 'x'; sleep 100", "",
				    "b c", NULL });

	cr_assert_eq(mt_process_command_read(pid, &command), 0);
	cr_assert_eq(command.n_args, 5);
	cr_assert_str_eq(command.args[0], "/usr/bin/perl");
	cr_assert_str_eq(command.args[3], "");
	cr_assert_str_eq(command.args[4], "b c");
	cr_assert_null(command.args[5]);
	cr_assert_str_eq(command.cwd, "/proc");
	mt_process_command_release(&command);
	end(pid);
}

/* A title is shorter than the arguments that were there: what is left of those is NULs. */
Test(process_command, title)
{
	struct mt_process_command command;
	int pid = start((char *[]){ "/usr/bin/perl", "-e",
				    "$0 = 'server: idle'; $| = 1; print 'x'; sleep 100", NULL });

	cr_assert_eq(mt_process_command_read(pid, &command), 0);
	cr_assert_eq(command.n_args, 1);
	cr_assert_str_eq(command.args[0], "server: idle");
	mt_process_command_release(&command);
	end(pid);
}

Test(process_command, more_than_is_read)
{
	static char argument[MT_PROCESS_COMMAND_MAX + 100];
	struct mt_process_command command;
	int pid;

	memset(argument, 'a', sizeof(argument) - 1);
	pid = start((char *[]){ "/usr/bin/perl", "-e", "$| = 1; print 'x'; sleep 100", argument,
				NULL });
	cr_assert_eq(mt_process_command_read(pid, &command), 0);
	cr_assert_eq(command.n_args, 4);
	cr_assert_eq(strlen(command.args[3]), MT_PROCESS_COMMAND_MAX -
		     sizeof("/usr/bin/perl\0-e\0$| = 1; print 'x'; sleep 100"));
	mt_process_command_release(&command);
	end(pid);
}

/* It has no memory, and so no arguments, once it has ended. */
Test(process_command, zombie)
{
	struct mt_process_command command;
	siginfo_t info;
	int pid = fork();

	cr_assert_geq(pid, 0);
	if (!pid)
		_exit(0);
	cr_assert_eq(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	cr_assert_eq(mt_process_command_read(pid, &command), 0);
	cr_assert_eq(command.n_args, 0);
	cr_assert_str_eq(command.cwd, "");
	mt_process_command_release(&command);
	end(pid);
	cr_assert_eq(mt_process_command_read(pid, &command), -ENOENT);
}
