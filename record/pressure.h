/*
 * record/pressure.h - episodes of pressure: the tree stands still while the rings drain.
 */
#ifndef MT_PRESSURE_H
#define MT_PRESSURE_H

#include <stdint.h>

struct mt_attach_worker;
struct mt_pipeline;
struct mt_programs;
struct mt_stopped;

#define MT_PRESSURE_FOREVER UINT64_MAX

struct mt_pressure_report {
	uint32_t episodes;
	uint64_t total;		/* ns the tree stood still */
	uint64_t longest;
};

/*
 * Run one episode that the kernel side has begun: stop the tree, drain every pipeline, answer
 * attach requests without resuming anybody, end the episode, resume. At most timeout ns:
 * then -ETIMEDOUT, the tree killed (and resumed, to die).
 */
int mt_pressure_episode(struct mt_programs *programs, struct mt_stopped *stopped,
			struct mt_attach_worker *worker, struct mt_pipeline *pipeline,
			uint64_t timeout, struct mt_pressure_report *report);

#endif
