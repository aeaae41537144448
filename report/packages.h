/*
 * report/packages.h - which installed Debian package a file came in: where its debug
 * symbols are to be had.
 */
#ifndef MT_PACKAGES_H
#define MT_PACKAGES_H

#include <stddef.h>

#define MT_PACKAGES_DIR "/var/lib/dpkg/info"

/*
 * Fill ret_packages[i] with the name of the package that lists paths[i] (free() it), or NULL.
 * One pass over the lists in dir; a missing dir is no error. /usr/lib and /lib count as
 * the same, as they are after the merge. 0 or -ENOMEM.
 */
int mt_packages_find(const char *dir, const char *const *paths, size_t n, char **ret_packages);

#endif
