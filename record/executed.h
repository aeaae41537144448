/*
 * record/executed.h - the files that a process is about to execute.
 *
 * A name is followed as the kernel will follow it for that process: from its root and its folder,
 * through #! lines to the program, and from that to its dynamic linker. All of it is the
 * process's say, so nothing but regular files is opened, and only so many.
 */
#ifndef MT_EXECUTED_H
#define MT_EXECUTED_H

struct mt_ring_exec_request;

/* Told of the program, then of its linker. The descriptor is open for the time of the call. */
typedef void (*mt_executed_fn)(void *arg, int fd);

/*
 * 0: the last file told of is the one whose code will run first. -ENOENT, -ENOEXEC and the like:
 * nothing will be executed. Other -errno: it could not be found out.
 */
int mt_executed_each(const struct mt_ring_exec_request *request, mt_executed_fn fn, void *arg);

#endif
