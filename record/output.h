/*
 * record/output.h - the file a recording goes to.
 */
#ifndef MT_OUTPUT_H
#define MT_OUTPUT_H

#include <stdbool.h>

struct mt_identity;

static inline bool mt_output_is_stdout(const char *path)
{
	return path[0] == '-' && !path[1];
}

/*
 * Open path ("-": standard output) for writing as this user, without touching what is in it.
 * *ret_created: it did not exist. A regular file stays locked (flock) until all its descriptors
 * are closed. An fd or -errno: -ELOOP for a symbolic link when acting for another user, -ENOTTY if
 * standard output is a terminal, -ENOTUNIQ if standard error goes into it too, -EBUSY if the file
 * is another recorder's.
 */
int mt_output_open(const char *path, const struct mt_identity *identity, bool *ret_created);

/*
 * The file at fd (see above) has been removed while it was written: write it again to path, as this
 * user. 1: done; 0: it had not been removed; -errno.
 */
int mt_output_restore(int fd, const char *path, const struct mt_identity *identity);

#endif
