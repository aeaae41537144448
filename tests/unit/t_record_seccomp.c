/* Kernels and processes that return probes are a hazard to. */
#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/seccomp_hazard.h"

Test(record_seccomp, versions)
{
	cr_assert(mt_seccomp_hazard_possible("6.11.0"));
	cr_assert(mt_seccomp_hazard_possible("6.12.6-amd64"));
	cr_assert(mt_seccomp_hazard_possible("6.13-rc1"));
	cr_assert_not(mt_seccomp_hazard_possible("6.10.14"));
	cr_assert_not(mt_seccomp_hazard_possible("6.14.0"));
	cr_assert_not(mt_seccomp_hazard_possible("6.1.0-50-amd64"));
	cr_assert_not(mt_seccomp_hazard_possible("5.11.0"));
	cr_assert_not(mt_seccomp_hazard_possible("7.12.0"));
	cr_assert_not(mt_seccomp_hazard_possible("linux"));
}

/* A child with a filter that allows everything; it says when it has it. */
static pid_t start_filtered(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 1, .filter = code };
	int ends[2];
	char byte = 0;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(1);
		if (write(ends[1], "y", 1) == 1)
			pause();
		_exit(0);
	}
	close(ends[1]);
	cr_assert_eq(read(ends[0], &byte, 1), 1, "no filters here");
	close(ends[0]);
	return pid;
}

Test(record_seccomp, finds_who_has_a_filter)
{
	char comm[MT_SECCOMP_COMM_MAX];
	int found = 0;
	pid_t pid = start_filtered();
	uint32_t with = mt_seccomp_filtered(&found, comm), without;

	cr_assert_geq(with, 1);
	cr_assert_gt(found, 0);
	cr_assert_neq(comm[0], '\0');
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	without = mt_seccomp_filtered(&found, comm);
	cr_assert_lt(without, with);
}

Test(record_seccomp, asking_harms_nobody)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(mt_seccomp_hazard() ? 11 : 12);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) >= 11, "%d", status);
}
