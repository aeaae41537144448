/*
 * record/file_notes.h - what proves elsewhere which files were mapped: size, time, build-id.
 *
 * One thread adds, another writes; memory is fixed, whatever the number of files. Should more
 * come between two times of writing than there is room for, they are counted, and can be
 * recognised on this machine only.
 */
#ifndef MT_FILE_NOTES_H
#define MT_FILE_NOTES_H

#include <stdbool.h>
#include <stdint.h>

struct mt_file_notes;
struct mt_inode_key;
struct mt_writer;

int mt_file_notes_new(struct mt_file_notes **ret_notes);
void mt_file_notes_free(struct mt_file_notes *notes);

/*
 * Note the file open at fd, whose mappings are of the inode key. path NULL: the one that the
 * kernel will show for a mapping.
 */
void mt_file_notes_add(struct mt_file_notes *notes, int fd, const char *path,
		       const struct mt_inode_key *key);
/* The one of this process is that of all. */
void mt_file_notes_add_vdso(struct mt_file_notes *notes);

/* Look at what was added from now on, see record/rewrites.h. 0, -errno. */
int mt_file_notes_start(struct mt_file_notes *notes);

/*
 * Write what has been added since the last time, and what has been found overwritten: 0, or the
 * writer's error. last: look once more, and wait for that a little.
 */
int mt_file_notes_write(struct mt_file_notes *notes, struct mt_writer *writer, bool last);

/*
 * After the last time: the file that has held up the looking, so that it and others were not
 * looked at; "" if there was no time for all, NULL if they were.
 */
const char *mt_file_notes_held_up(const struct mt_file_notes *notes);
uint64_t mt_file_notes_dropped(struct mt_file_notes *notes);

#endif
