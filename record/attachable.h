/*
 * record/attachable.h - whether a process can be attached to, and why not, as a sentence.
 */
#ifndef MT_ATTACHABLE_H
#define MT_ATTACHABLE_H

#define MT_ATTACHABLE_MAX 256

/* 0, or -ESRCH, -EINVAL and one line: no such process, a zombie, a thread, the kernel's or us. */
int mt_attachable(int pid, char ret_line[MT_ATTACHABLE_MAX]);

/*
 * The kernel has refused err (-EACCES, -EPERM) to a recorder that may attach to others. 1 and one
 * line if it is about this process, 0 if it lets us look at that.
 */
int mt_attachable_refused(int pid, int err, char ret_line[MT_ATTACHABLE_MAX]);

#endif
