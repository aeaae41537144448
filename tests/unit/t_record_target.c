#include "record/target.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/t_record_target.XXXXXX";
static char out[64];
static const struct mt_identity as_we_are;
static sigset_t no_signals;

static void setup(void)
{
	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chmod(dir, 0777), 0);
	snprintf(out, sizeof(out), "%s/out", dir);
	cr_assert_eq(setenv("OUT", out, 1), 0);
	sigemptyset(&no_signals);
}

static void teardown(void)
{
	unlink(out);
	rmdir(dir);
}

static void pause_ms(long ms)
{
	struct timespec time = { .tv_nsec = ms * 1000000 };

	nanosleep(&time, NULL);
}

static struct mt_target *start(char *const *argv, const struct mt_identity *identity)
{
	struct mt_target_options options = {
		.argv = argv, .identity = identity, .mask = &no_signals,
	};
	struct mt_target *target = NULL;

	cr_assert_eq(mt_target_start(&options, &target), 0);
	cr_assert_gt(mt_target_pid(target), 0);
	cr_assert_eq(fcntl(mt_target_pidfd(target), F_GETFD), FD_CLOEXEC);
	return target;
}

/* What the command left in out, with its exit status, which must be 0. */
static void finish(struct mt_target *target, char *ret_text, size_t size)
{
	struct pollfd end = { .fd = mt_target_pidfd(target), .events = POLLIN };
	int status = -1, fd;
	ssize_t n;

	cr_assert_eq(poll(&end, 1, 60000), 1);
	cr_assert_eq(waitpid(mt_target_pid(target), &status, 0), mt_target_pid(target));
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	mt_target_free(target);
	fd = open(out, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	n = read(fd, ret_text, size - 1);
	cr_assert_geq(n, 0);
	ret_text[n] = '\0';
	close(fd);
}

static void read_proc_link(pid_t pid, const char *name, char ret_text[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/%s", pid, name);
	n = readlink(link, ret_text, PATH_MAX - 1);
	cr_assert_gt(n, 0, "%s", link);
	ret_text[n] = '\0';
}

Test(target, executes_when_the_gate_opens_and_not_before, .init = setup, .fini = teardown)
{
	char *argv[] = { "sh", "-c", "echo ran >$OUT", NULL };
	char exe[PATH_MAX], own_exe[PATH_MAX], text[64];
	struct mt_target *target = start(argv, &as_we_are);
	struct pollfd end = { .fd = mt_target_pidfd(target), .events = POLLIN };

	cr_expect_eq(poll(&end, 1, 200), 0);
	read_proc_link(getpid(), "exe", own_exe);
	read_proc_link(mt_target_pid(target), "exe", exe);
	cr_expect_str_eq(exe, own_exe);
	cr_expect_eq(access(out, F_OK), -1);

	cr_assert_eq(mt_target_open_gate(target), 0);
	finish(target, text, sizeof(text));
	cr_expect_str_eq(text, "ran\n");
}

/* As when mt-record ends early or dies. */
Test(target, a_closed_gate_ends_the_child_without_executing, .init = setup, .fini = teardown)
{
	char *argv[] = { "sh", "-c", "echo ran >$OUT", NULL };
	struct mt_target *target = start(argv, &as_we_are);
	pid_t pid = mt_target_pid(target);

	mt_target_free(target);
	cr_expect_eq(waitpid(pid, NULL, 0), -1);
	cr_expect_eq(errno, ECHILD);
	cr_expect_eq(access(out, F_OK), -1);
	mt_target_free(NULL);
}

static void expect_exec_fails(char *name, int err)
{
	char *argv[] = { name, NULL };
	struct mt_target *target = start(argv, &as_we_are);
	pid_t pid = mt_target_pid(target);

	cr_expect_eq(mt_target_open_gate(target), err, "%s", name);
	cr_expect_eq(waitpid(pid, NULL, 0), -1);
	cr_expect_eq(errno, ECHILD);
	mt_target_free(target);
}

Test(target, a_failed_exec_comes_back, .init = setup, .fini = teardown)
{
	int fd = open(out, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0);
	close(fd);
	expect_exec_fails("/nonexistent/command", -ENOENT);
	/* A folder of PATH that is closed to us would change the error. */
	cr_assert_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
	expect_exec_fails("no-command-of-this-name", -ENOENT);
	expect_exec_fails(out, -EACCES);
	expect_exec_fails(dir, -EACCES);
}

/* A command whose output goes to standard error, which is out. */
static struct mt_target *start_printing(char *const *argv)
{
	struct mt_target_options options = {
		.argv = argv, .identity = &as_we_are, .mask = &no_signals, .stdout_to_stderr = true,
	};
	int saved = dup(STDERR_FILENO), fd = open(out, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	struct mt_target *target;

	cr_assert_geq(saved, 0);
	cr_assert_geq(fd, 0);
	cr_assert_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	cr_assert_eq(mt_target_start(&options, &target), 0);
	cr_assert_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	close(fd);
	return target;
}

Test(target, its_output_goes_to_standard_error_if_ours_is_taken, .init = setup, .fini = teardown)
{
	char *argv[] = { "echo", "printed", NULL };
	struct mt_target *target = start_printing(argv);
	char text[64];

	cr_assert_eq(mt_target_open_gate(target), 0);
	finish(target, text, sizeof(text));
	cr_expect_str_eq(text, "printed\n");
}

Test(target, the_command_gets_the_mask_it_is_given, .init = setup, .fini = teardown)
{
	/* Not by a shell, which has a mask of its own. */
	char *argv[] = { "grep", "SigBlk:", "/proc/self/status", NULL };
	struct mt_target *target;
	unsigned long long mask;
	sigset_t ours, before;
	char text[64];

	/* Ours, while recording, is none of its business. */
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGUSR2);
	cr_assert_eq(sigprocmask(SIG_BLOCK, &ours, &before), 0);
	sigaddset(&no_signals, SIGUSR1);
	target = start_printing(argv);
	cr_assert_eq(mt_target_open_gate(target), 0);
	cr_assert_eq(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	finish(target, text, sizeof(text));
	cr_assert_eq(sscanf(text, "SigBlk: %llx", &mask), 1);
	cr_expect_eq(mask, 1ull << (SIGUSR1 - 1));
}

/* Numbers of the descriptors of a process as a set; of our own those that exec leaves open. */
static uint64_t descriptors(pid_t pid)
{
	struct dirent *entry;
	uint64_t set = 0;
	char name[32];
	DIR *fds;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	fds = opendir(name);
	cr_assert_not_null(fds);
	while ((entry = readdir(fds))) {
		fd = atoi(entry->d_name);
		if (entry->d_name[0] == '.' || (pid == getpid() && fcntl(fd, F_GETFD) != 0))
			continue;
		cr_assert_lt(fd, 64);
		set |= 1ull << fd;
	}
	closedir(fds);
	return set;
}

Test(target, the_command_gets_no_descriptor_of_ours, .init = setup, .fini = teardown)
{
	char *argv[] = { "sleep", "1000", NULL };
	uint64_t inherited = descriptors(getpid()), seen = 0;
	struct mt_target *target = start(argv, &as_we_are);
	pid_t pid = mt_target_pid(target);
	int i;

	cr_assert_eq(mt_target_open_gate(target), 0);
	/* The dynamic linker has libraries open for a moment. */
	for (i = 0; i < 1000 && (!i || seen != inherited); i++) {
		pause_ms(10);
		seen = descriptors(pid);
	}
	cr_expect_eq(seen, inherited);
	kill(pid, SIGKILL);
	cr_expect_eq(waitpid(pid, NULL, 0), pid);
	mt_target_free(target);
}

Test(target, under_sudo_the_command_runs_as_the_user, .init = setup, .fini = teardown)
{
	char *argv[] = {
		"sh", "-c",
		"echo $(id -u) $(id -g) $(id -G) $USER $LOGNAME ${SUDO_UID-unset} >$OUT",
		NULL
	};
	struct mt_identity identity;
	struct mt_target *target;
	char text[64];

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	cr_assert_eq(setenv("SUDO_UID", "65534", 1), 0);
	cr_assert_eq(setenv("SUDO_GID", "65534", 1), 0);
	cr_assert_eq(mt_identity_of_sudo(&identity), 0);
	cr_assert(identity.change);
	cr_expect_eq(identity.uid, 65534);
	cr_expect_eq(identity.gid, 65534);
	cr_expect_str_eq(identity.name, "nobody");
	target = start(argv, &identity);
	cr_assert_eq(mt_target_open_gate(target), 0);
	finish(target, text, sizeof(text));
	cr_expect_str_eq(text, "65534 65534 65534 nobody nobody unset\n");
}

Test(target, who_called_sudo_must_make_sense)
{
	struct mt_identity identity = { .change = true };

	if (geteuid() != 0)
		cr_skip_test("sudo is asked for by root only");
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	cr_expect_eq(mt_identity_of_sudo(&identity), 0);
	cr_expect_not(identity.change);
	setenv("SUDO_GID", "0", 1);
	setenv("SUDO_UID", "0", 1);
	identity.change = true;
	cr_expect_eq(mt_identity_of_sudo(&identity), 0);
	cr_expect_not(identity.change);
	setenv("SUDO_UID", "65534x", 1);
	cr_expect_eq(mt_identity_of_sudo(&identity), -EINVAL);
	setenv("SUDO_UID", "", 1);
	cr_expect_eq(mt_identity_of_sudo(&identity), -EINVAL);
	setenv("SUDO_UID", "65534", 1);
	setenv("SUDO_GID", "", 1);
	cr_expect_eq(mt_identity_of_sudo(&identity), -EINVAL);
	/* Nobody's number. */
	setenv("SUDO_GID", "0", 1);
	setenv("SUDO_UID", "3999999999", 1);
	cr_expect_eq(mt_identity_of_sudo(&identity), -EINVAL);
}
