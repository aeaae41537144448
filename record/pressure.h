/*
 * record/pressure.h - episodes of pressure: the tree stands still while the rings drain.
 */
#ifndef MT_PRESSURE_H
#define MT_PRESSURE_H

#include <stdbool.h>
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

/* All are borrowed. give_up is asked while nothing else is to be done. */
struct mt_pressure_config {
	struct mt_programs *programs;
	struct mt_stopped *stopped;
	struct mt_attach_worker *worker;
	struct mt_pipeline *pipeline;
	uint64_t timeout;	/* ns */
	bool (*give_up)(void *arg);
	void *arg;
};

/*
 * Run one episode that the kernel side has begun: stop the tree, drain every pipeline, answer
 * attach requests without resuming anybody, end the episode, resume. At most timeout ns:
 * then -ETIMEDOUT, the tree killed (and resumed, to die). Given up, it ends early, and so does the
 * recording: mt_pipeline_end(); 0.
 */
int mt_pressure_episode(const struct mt_pressure_config *config,
			struct mt_pressure_report *report);

#endif
