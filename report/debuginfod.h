/*
 * report/debuginfod.h - files asked for by build-id from debuginfod servers, by libdebuginfod.
 *
 * The library is loaded when it is first needed, so that mt-report runs where there is none. It
 * keeps what it got, and remembers for some minutes what servers do not have. What it gives is not
 * trusted: callers compare build-ids.
 */
#ifndef MT_DEBUGINFOD_H
#define MT_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

struct mt_debuginfod;

enum mt_debuginfod_kind {
	MT_DEBUGINFOD_DEBUGINFO,
	MT_DEBUGINFOD_EXECUTABLE,
};

/* Seconds without progress after which a server is given up, unless DEBUGINFOD_TIMEOUT is set. */
#define MT_DEBUGINFOD_TIMEOUT "5"

/* Told what is being fetched, now and then; NULL when that is over. */
typedef void (*mt_debuginfod_told_fn)(void *arg, const char *doing);

/* urls: as in DEBUGINFOD_URLS, which is set to it; NULL: that is set already. 0 or -ENOMEM. */
int mt_debuginfod_new(const char *urls, mt_debuginfod_told_fn told, void *arg,
		      struct mt_debuginfod **ret_client);
void mt_debuginfod_free(struct mt_debuginfod *client);

/*
 * A file to read: the descriptor and its path, which is the caller's to free; name is for the
 * progress line. Any number of threads may ask, and told is called by whichever does. -ENOENT: no
 * server has it; anything else: they cannot be asked, and after that are not asked again.
 */
int mt_debuginfod_find(struct mt_debuginfod *client, enum mt_debuginfod_kind kind,
		       const uint8_t *build_id, size_t n, const char *name, char **ret_path);

/* Why servers are not asked any more, one clause; NULL: they are. */
const char *mt_debuginfod_failure(const struct mt_debuginfod *client);

#endif
