/*
 * report/cache_folder.h - where the cache is, whose it is, and how large it may get.
 */
#ifndef MT_CACHE_FOLDER_H
#define MT_CACHE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

/* Nobody but this user and root can write to what st describes. */
bool mt_cache_folder_is_ours(const struct stat *st);

/* As mt_cache_open(): the path, allocated, of a folder that need not be there. */
int mt_cache_folder_find(const char *dir, char **ret_path);

/* Open it, made if it is missing. Entries are only made in a folder of this user's. */
int mt_cache_folder_open(const char *path, int *ret_fd, bool *ret_may_write);

/*
 * Remove the entries not read or written for longest until the rest has at most max bytes, and what
 * writers that were killed left. Nothing else in the folder is touched.
 */
void mt_cache_folder_trim(int fd, uint64_t max);

#endif
