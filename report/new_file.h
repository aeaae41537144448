/*
 * report/new_file.h - a file that appears at its name when all of it has been written.
 */
#ifndef MT_NEW_FILE_H
#define MT_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct mt_new_file {
	FILE *out;
	char path[PATH_MAX];
	char temporary[PATH_MAX];	/* "" if what is written goes to path at once */
};

/* A name beside path for mkstemp(3) and mkdtemp(3), hidden. -ENAMETOOLONG. */
int mt_temporary_name(const char *path, char ret_name[PATH_MAX]);

/*
 * Begin a file for its owner only, which is to take the place of whatever is at path: links and
 * pipes too. -errno, -ENAMETOOLONG.
 */
int mt_new_file_open(struct mt_new_file *file, const char *path);

/*
 * The same at a name that the user gave: beside what it links to. Of "-", which is standard
 * output, and of a pipe or device, what is there is not replaced but written to.
 */
int mt_new_file_open_output(struct mt_new_file *file, const char *path);

/*
 * err 0: it takes the place of what is at path. Else, or if that fails, it is removed. Returns
 * err, or why it failed.
 */
int mt_new_file_close(struct mt_new_file *file, int err);

#endif
