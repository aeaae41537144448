/*
 * record/control.h - commands that come in by a FIFO while recording, and their answers.
 */
#ifndef MT_CONTROL_H
#define MT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/artifact.h"

struct mt_control;
struct mt_identity;

#define MT_CONTROL_LINE_MAX 256		/* bytes of a command, without the newline */
#define MT_CONTROL_ERROR_MAX 256

enum mt_control_kind {
	MT_CONTROL_ENABLE,
	MT_CONTROL_DISABLE,
	MT_CONTROL_MARK,
	MT_CONTROL_PING,
	MT_CONTROL_STOP,
};

struct mt_control_command {
	enum mt_control_kind kind;
	char name[MT_MARK_NAME_MAX + 1];	/* of a mark, else "" */
};

/*
 * A line of any bytes, without its newline. 1: a command; 0: nothing but blanks; -EINVAL and
 * what is wrong with it in error, printable.
 */
int mt_control_parse(const char *line, size_t len, struct mt_control_command *ret_command,
		     char error[MT_CONTROL_ERROR_MAX]);

/*
 * The two paths of "fifo:PATH[,ACKPATH]", in memory to free(); *ret_answers is NULL if there is
 * none. -EINVAL, -ENOMEM.
 */
int mt_control_split(const char *spec, char **ret_commands, char **ret_answers);

/*
 * Open the FIFOs, made as this user if they are missing. -errno and one line in error: they are
 * something else, or cannot be made or opened.
 */
int mt_control_open(const char *spec, const struct mt_identity *identity,
		    struct mt_control **ret_control, char error[MT_CONTROL_ERROR_MAX]);
/* Removes those that were made. */
void mt_control_free(struct mt_control *control);

int mt_control_fd(const struct mt_control *control);	/* readable when a command may be there */

/* The next command, never waiting: as mt_control_parse(), and 0 if there is none now. */
int mt_control_next(struct mt_control *control, struct mt_control_command *ret_command,
		    char error[MT_CONTROL_ERROR_MAX]);

/* Does a stop wait among the commands behind the latest, as far as they are kept? Takes none. */
bool mt_control_stop_waits(struct mt_control *control);

/* Answer the latest command: error is NULL if it has been done. Never waits for a reader. */
void mt_control_answer(struct mt_control *control, const char *error);

#endif
