/*
 * record/rewrites.h - mapped files that are overwritten where they are while recording.
 *
 * A process that maps such a file later runs other code than one that mapped it before, and both
 * say the same device, inode and path. So the files that were noted are looked at again: what has
 * another build-id now is told, with the time since when.
 *
 * A thread of its own looks: a file may lie where nobody answers any more (a server that is gone, a
 * FUSE daemon that stands still), and whoever looks there is held up for as long. One thread adds,
 * another one asks for looks and takes what was found; neither is.
 *
 * What is not noticed: a file that cannot be found by its path, as in another mount namespace; what
 * a file was in between, if it was overwritten twice within the time from look to look; and what
 * would have been looked at after a file that holds the thread up.
 */
#ifndef MT_REWRITES_H
#define MT_REWRITES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "common/event.h"

struct mt_rewrites;

/* A look at more files than these goes on where the last one ended. */
#define MT_REWRITES_A_LOOK 4096u

int mt_rewrites_new(struct mt_rewrites **ret_rewrites);
/* Start the thread, which does not look before it is asked. Once. 0, -errno. */
int mt_rewrites_start(struct mt_rewrites *rewrites);
/*
 * Ends the thread. One that is held up is left behind with its memory. If it stands in the kernel
 * for an answer that nothing cuts short, as of a FUSE daemon that has read the question, what has
 * been the process stays a zombie until that comes.
 */
void mt_rewrites_free(struct mt_rewrites *rewrites);

/*
 * Look again at the file that is noted and was st. Copied. 0; -ENOMEM, -MT_E_LIMIT: it is not
 * looked at.
 */
int mt_rewrites_watch(struct mt_rewrites *rewrites, const struct mt_file_note *note,
		       const struct stat *st);

/*
 * A look from now on; none if one is going on. What the one before found and was not taken is lost.
 */
void mt_rewrites_ask(struct mt_rewrites *rewrites);
/* Has the look that was asked for ended? Waits so long at most. */
bool mt_rewrites_wait(struct mt_rewrites *rewrites, uint64_t ns);

/* note, with its build-id and path, is the taker's and valid during the call. */
typedef void (*mt_rewrite_fn)(void *arg, const struct mt_file_note *note);

/* Once it has ended: tell of each file that it found to be another one, once. */
void mt_rewrites_take(struct mt_rewrites *rewrites, mt_rewrite_fn fn, void *arg);

/* The file that is being looked at, "" if there is none. Valid as long as the object. */
const char *mt_rewrites_looked_at(struct mt_rewrites *rewrites);

#endif
