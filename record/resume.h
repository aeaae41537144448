/*
 * record/resume.h - make a process that stands still for us go on, and nothing else.
 *
 * SIGCONT discards the stop signals that are pending. Those of somebody else are not for us to take
 * away: they are sent again, so that the process stops or runs its handler as without us.
 */
#ifndef MT_RESUME_H
#define MT_RESUME_H

#include <signal.h>
#include <stdbool.h>

/* Has somebody else sent it SIGSTOP, and no SIGCONT since? One that is pending may be our own. */
typedef bool (*mt_held_fn)(void *arg, int pid);

/*
 * Whom somebody else holds gets no SIGCONT, and who is held while it gets one, another SIGSTOP.
 * pidfd is the process's, or negative: then pid alone says who it is. Of stop signals sent to one
 * thread, those are lost that are for threads other than the first of more than
 * MT_RESUME_THREADS_MAX: to look at each takes time, in which all stand still.
 * 1: it was sent a stop signal again, and may stand still for that; 0; -errno: it got no SIGCONT.
 */
#define MT_RESUME_THREADS_MAX 16
int mt_resume(int pid, int pidfd, mt_held_fn held, void *arg);

/* Sends it sig, with this information if there is any; pidfd as above. 0, -errno. */
int mt_signal_process(int pid, int pidfd, int sig, const siginfo_t *info);

#endif
