/*
 * record/target.h - the command: forked at once, executed when the gate opens.
 *
 * Until then the child only waits, so that all that watches it can be armed. Nothing of that
 * shows in the command: no shell between, no signal, no open descriptor.
 */
#ifndef MT_TARGET_H
#define MT_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct mt_target;

/* Whom the command runs as. */
struct mt_identity {
	bool change;	/* false: as we are */
	uid_t uid;
	gid_t gid;
	char name[64];
};

/* The user who called sudo, or change == false. -errno if SUDO_UID names nobody. */
int mt_identity_of_sudo(struct mt_identity *ret_identity);

struct mt_target_options {
	char *const *argv;
	const struct mt_identity *identity;
	const sigset_t *mask;		/* the signal mask the command gets */
	bool stdout_to_stderr;		/* our standard output is taken */
};

/* Fork. What options points to must live until the gate has been opened. */
int mt_target_start(const struct mt_target_options *options, struct mt_target **ret_target);

/* Closes the gate for good if it was not opened: the child ends without executing anything. */
void mt_target_free(struct mt_target *target);

pid_t mt_target_pid(const struct mt_target *target);
int mt_target_pidfd(const struct mt_target *target);	/* borrowed; readable when it has ended */

/* Let the child execute. 0 once it does, -errno of execve(2) or of changing identity. */
int mt_target_open_gate(struct mt_target *target);

#endif
