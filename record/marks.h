/*
 * record/marks.h - moments that the user named, and when recording was enabled and disabled.
 *
 * Added by one thread, written by another; adding never waits for the output.
 */
#ifndef MT_MARKS_H
#define MT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

struct mt_marks;
struct mt_writer;

int mt_marks_new(struct mt_marks **ret_marks);
void mt_marks_free(struct mt_marks *marks);

/*
 * type: enum mt_mark_type. 0, -ENOMEM, -E2BIG if there are MT_MARKS_MAX already,
 * -ENOBUFS if too many wait to be written.
 */
int mt_marks_add(struct mt_marks *marks, uint32_t type, uint64_t time, const char *name);

/* Is there room for any mark among those that wait to be written? */
bool mt_marks_have_room(struct mt_marks *marks);

/* Those not yet written. The writer's error, or 0. */
int mt_marks_write(struct mt_marks *marks, struct mt_writer *writer);

#endif
