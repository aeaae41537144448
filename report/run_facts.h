/*
 * report/run_facts.h - what an artifact says of the recording as a whole: how it was made,
 * how it ended, what it covers, what was lost.
 */
#ifndef MT_RUN_FACTS_H
#define MT_RUN_FACTS_H

#include "report/coverage_facts.h"
#include "report/mark_facts.h"
#include "report/reader.h"

#define MT_RUN_LOSSES_MAX 4096

struct mt_run {
	const struct mt_header *header;		/* borrowed from the reader, like the trailer */
	const struct mt_trailer *trailer;	/* NULL: the file has none */
	struct mt_loss *losses;	/* by (source, cause), sorted; strings are the run's */
	uint32_t n_losses;
	uint64_t lost;		/* sum of their counts */
	uint64_t last_time;	/* of the trailer or the last checkpoint; 0: neither is there */
	struct mt_coverage_facts coverage;
	struct mt_mark_facts marks;
	struct mt_intern *strings;
};

/*
 * Reads the loss, coverage, marks and checkpoint blocks. 0, -ENOMEM, -errno, -MT_E_LIMIT,
 * -MT_E_CORRUPT.
 */
int mt_run_load(struct mt_reader *reader, struct mt_run *ret_run);
void mt_run_release(struct mt_run *run);

/* The command line as one would type it, quoted where need be; free() it. NULL: out of memory. */
char *mt_run_command(const struct mt_run *run);

#endif
