/*
 * record/process_command.h - what a process that runs already was started as; proc(5).
 */
#ifndef MT_PROCESS_COMMAND_H
#define MT_PROCESS_COMMAND_H

#include <stdint.h>

struct mt_process_command {
	char *bytes;	/* the arguments, each with its NUL */
	char **args;	/* into it */
	uint32_t n_args;
	char *cwd;
};

/* More bytes of arguments are cut off. */
#define MT_PROCESS_COMMAND_MAX (64u << 10)

/*
 * What the process says itself, which it may have changed: nothing, if it has no memory. cwd is ""
 * if it cannot be seen. 0, -ENOMEM, -errno.
 */
int mt_process_command_read(int pid, struct mt_process_command *ret_command);
void mt_process_command_release(struct mt_process_command *command);

#endif
