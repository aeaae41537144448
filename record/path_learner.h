/*
 * record/path_learner.h - the thread that finds out which frames the stacks defined so far consist
 * of, and tells the programs.
 *
 * They then know other stacks of the same call path, whatever lies about in them
 * (bpf/stack_path.bpf.h). Whatever is not found out, or not in time, only costs definitions.
 */
#ifndef MT_PATH_LEARNER_H
#define MT_PATH_LEARNER_H

#include <stddef.h>

struct mt_path_learner;
struct mt_programs;

/* Starts the thread. programs is borrowed. 0, -ENOMEM, -errno. */
int mt_path_learner_start(const struct mt_programs *programs, struct mt_path_learner **ret_learner);
/*
 * Ends the thread. It reads the memory of processes, which may be of files where nobody answers any
 * more: one that is held up is left behind, and its memory with it, but nothing else.
 */
void mt_path_learner_free(struct mt_path_learner *learner);

/*
 * A record of the stack ring is looked at soon; or not at all, if there is too much to do. Never
 * waits. From one thread. learner may be NULL.
 */
void mt_path_learner_offer(struct mt_path_learner *learner, const void *data, size_t len);

#endif
