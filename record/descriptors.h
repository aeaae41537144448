/*
 * record/descriptors.h - as many file descriptors as may be had, and a few kept free.
 *
 * Each process that is stopped is looked at through /proc, which takes descriptors for a moment.
 * Probes hold theirs to the end, and how many there are the command decides.
 */
#ifndef MT_DESCRIPTORS_H
#define MT_DESCRIPTORS_H

#include <limits.h>

/* More are not held, whatever the limit: their numbers alone take memory. */
#define MT_DESCRIPTORS_MAX (1 << 19)

/* Raise the limit as far as it goes; of this process, and those that it forks later. */
void mt_descriptors_raise(void);

/*
 * A descriptor that was just opened and is to be held for long: as it is, or closed and -EMFILE if
 * it is one of the last, or too high. -errno if it is below 0. Numbers are given from the lowest
 * on.
 */
int mt_descriptor_keep(int fd);

/* An open file's name, as the kernel will show it for a mapping: links followed. "": none. */
const char *mt_descriptor_path(int fd, char buf[PATH_MAX]);

#endif
