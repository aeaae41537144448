#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct mt_target {
	pid_t pid;
	int pidfd;
	int gate;	/* write end; -1 once opened */
	int failure;	/* read end: errno of a failed exec, end of file if it went well */
};

int mt_identity_of_sudo(struct mt_identity *ret_identity)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	struct mt_identity identity = {};
	struct passwd *user;
	char *end;

	if (geteuid() != 0 || (!uid_text && !gid_text) ||
	    (uid_text && strcmp(uid_text, "0") == 0)) {
		*ret_identity = identity;
		return 0;
	}
	if (!uid_text || !gid_text)
		return -EINVAL;
	identity.change = true;
	identity.uid = strtoul(uid_text, &end, 10);
	if (*end || end == uid_text)
		return -EINVAL;
	identity.gid = strtoul(gid_text, &end, 10);
	if (*end || end == gid_text)
		return -EINVAL;
	user = getpwuid(identity.uid);
	if (!user || strlen(user->pw_name) >= sizeof(identity.name))
		return -EINVAL;
	memcpy(identity.name, user->pw_name, strlen(user->pw_name) + 1);
	*ret_identity = identity;
	return 0;
}

/* sudo has set these to root's. */
static int become(const struct mt_identity *identity)
{
	struct passwd *user;

	if (!identity->change)
		return 0;
	user = getpwuid(identity->uid);
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("SHELL", user->pw_shell, 1);
	}
	setenv("USER", identity->name, 1);
	setenv("LOGNAME", identity->name, 1);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	unsetenv("SUDO_USER");
	unsetenv("SUDO_COMMAND");
	if (initgroups(identity->name, identity->gid) || setgid(identity->gid) ||
	    setuid(identity->uid))
		return -errno;
	return 0;
}

static void run_child(const struct mt_target_options *options, int gate, int failure)
{
	char byte;
	int err = become(options->identity);
	ssize_t n;

	do {
		n = read(gate, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(125);
	if (!err) {
		sigprocmask(SIG_SETMASK, options->mask, NULL);
		if (!options->stdout_to_stderr || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
			execvp(options->argv[0], options->argv);
		err = -errno;
	}
	n = write(failure, &err, sizeof(err));
	_exit(n == sizeof(err) ? 127 : 125);
}

int mt_target_start(const struct mt_target_options *options, struct mt_target **ret_target)
{
	struct mt_target *target = calloc(1, sizeof(*target));
	int gate[2] = { -1, -1 }, failure[2] = { -1, -1 };
	int err = 0;

	if (!target)
		return -ENOMEM;
	target->pid = -1;
	target->pidfd = target->gate = target->failure = -1;
	if (pipe2(gate, O_CLOEXEC) || pipe2(failure, O_CLOEXEC)) {
		err = -errno;
		goto out;
	}
	target->pid = fork();
	if (target->pid < 0) {
		err = -errno;
		goto out;
	}
	if (target->pid == 0) {
		close(gate[1]);
		run_child(options, gate[0], failure[1]);
	}
	target->gate = gate[1];
	target->failure = failure[0];
	gate[1] = failure[0] = -1;
	target->pidfd = syscall(SYS_pidfd_open, target->pid, 0);
	if (target->pidfd < 0)
		err = -errno;
out:
	if (gate[0] >= 0)
		close(gate[0]);
	if (gate[1] >= 0)
		close(gate[1]);
	if (failure[0] >= 0)
		close(failure[0]);
	if (failure[1] >= 0)
		close(failure[1]);
	if (err) {
		mt_target_free(target);
		return err;
	}
	*ret_target = target;
	return 0;
}

void mt_target_free(struct mt_target *target)
{
	if (!target)
		return;
	if (target->gate >= 0) {
		close(target->gate);
		if (target->pid > 0)
			waitpid(target->pid, NULL, 0);
	}
	if (target->failure >= 0)
		close(target->failure);
	if (target->pidfd >= 0)
		close(target->pidfd);
	free(target);
}

pid_t mt_target_pid(const struct mt_target *target)
{
	return target->pid;
}

int mt_target_pidfd(const struct mt_target *target)
{
	return target->pidfd;
}

int mt_target_open_gate(struct mt_target *target)
{
	int err = 0;
	ssize_t n;

	if (write(target->gate, "", 1) != 1)
		return -errno;
	close(target->gate);
	target->gate = -1;
	do {
		n = read(target->failure, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(err))
		return 0;
	waitpid(target->pid, NULL, 0);
	return err;
}
