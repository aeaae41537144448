/*
 * record/output.h - the file a recording goes to.
 */
#ifndef MT_OUTPUT_H
#define MT_OUTPUT_H

#include <stdbool.h>

struct mt_identity;

/*
 * Open path for writing as this user, without touching what is in it. *ret_created: it did not
 * exist. An fd or -errno: -ELOOP for a symbolic link when acting for another user.
 */
int mt_output_open(const char *path, const struct mt_identity *identity, bool *ret_created);

#endif
