/* record/exec_answer.h - probe what a process is about to execute, while it waits for that. */
#ifndef MT_EXEC_ANSWER_H
#define MT_EXEC_ANSWER_H

struct mt_attach_worker;
struct mt_programs;
struct mt_ring_exec_request;

/* A file that cannot be found is stopped for when it is executed: nothing here fails. */
void mt_exec_answer(struct mt_attach_worker *worker, struct mt_programs *programs,
		    const struct mt_ring_exec_request *request);

#endif
