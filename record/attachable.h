/*
 * record/attachable.h - whether a process can be attached to, and why not, as a sentence.
 */
#ifndef MT_ATTACHABLE_H
#define MT_ATTACHABLE_H

#define MT_ATTACHABLE_MAX 256

/*
 * 0, or one line and -ESRCH, -EINVAL, -EPERM: no such process, a zombie, a thread, the kernel's,
 * ourselves, or one that the kernel does not let us trace.
 */
int mt_attachable(int pid, char ret_line[MT_ATTACHABLE_MAX]);

#endif
