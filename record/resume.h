/*
 * record/resume.h - make a process that stands still for us go on, and nothing else.
 *
 * SIGCONT discards the stop signals that are pending. Those of somebody else are not for us to take
 * away: they are sent again, so that the process stops or runs its handler as without us.
 */
#ifndef MT_RESUME_H
#define MT_RESUME_H

/*
 * Not for whom somebody else has sent SIGSTOP: one that is pending is taken for our own. pidfd is
 * the process's, or negative: then pid alone says who it is.
 * 1: it was sent a stop signal again, and may stand still for that; 0; -errno: it got no SIGCONT.
 */
int mt_resume(int pid, int pidfd);

#endif
