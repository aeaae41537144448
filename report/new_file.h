/*
 * report/new_file.h - a file that appears at its name when all of it has been written.
 */
#ifndef MT_NEW_FILE_H
#define MT_NEW_FILE_H

#include <limits.h>
#include <stdio.h>

struct mt_new_file {
	FILE *out;
	const char *path;	/* borrowed */
	char temporary[PATH_MAX];
};

/* A name beside path for mkstemp(3) and mkdtemp(3), hidden. -ENAMETOOLONG. */
int mt_temporary_name(const char *path, char ret_name[PATH_MAX]);

/* Begin a file beside path, with the mode of any that the user makes. -errno, -ENAMETOOLONG. */
int mt_new_file_open(struct mt_new_file *file, const char *path);

/*
 * err 0: it takes the place of what is at path. Else, or if that fails, it is removed. Returns
 * err, or why it failed.
 */
int mt_new_file_close(struct mt_new_file *file, int err);

#endif
