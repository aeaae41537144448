/*
 * record/rewrites.h - mapped files that are overwritten where they are while recording.
 *
 * A process that maps such a file later runs other code than one that mapped it before, and both
 * say the same device, inode and path. So the files that were noted are looked at again: what has
 * another build-id now is told, with the time since when. One thread adds, another looks.
 *
 * What is not noticed: a file that cannot be found by its path, as in another mount namespace; and
 * what a file was in between, if it was overwritten twice within the time from look to look.
 */
#ifndef MT_REWRITES_H
#define MT_REWRITES_H

#include <sys/stat.h>

#include "common/event.h"

struct mt_rewrites;

/* A look at more files than these goes on where the last one ended. */
#define MT_REWRITES_A_LOOK 4096u

int mt_rewrites_new(struct mt_rewrites **ret_rewrites);
void mt_rewrites_free(struct mt_rewrites *rewrites);

/*
 * Look again at the file that is noted and was st. Copied. 0; -ENOMEM, -MT_E_LIMIT: it is not
 * looked at.
 */
int mt_rewrites_watch(struct mt_rewrites *rewrites, const struct mt_file_note *note,
		       const struct stat *st);

/* note, with its build-id and path, is the looker's and valid during the call. */
typedef void (*mt_rewrite_fn)(void *arg, const struct mt_file_note *note);

/* Tell of each that is another one now. */
void mt_rewrites_look(struct mt_rewrites *rewrites, mt_rewrite_fn fn, void *arg);

#endif
