/*
 * record/record_opts.h - mt-record's command line.
 */
#ifndef MT_RECORD_OPTS_H
#define MT_RECORD_OPTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/options.h"

struct mt_record_opts {
	const char *output;
	uint64_t stack_size;
	uint64_t ring_size;
	uint64_t stack_ring_size;
	bool quiet;
	unsigned int verbose;
	bool help;
	bool version;
	char **command;		/* NULL-terminated, borrowed from argv */
	int n_command;
};

/* Parse argv without the program's name. 0, or -EINVAL and one line. */
int mt_record_opts_parse(int argc, char **argv, struct mt_record_opts *ret_opts,
			 char error[MT_OPTIONS_ERROR_MAX]);
void mt_record_opts_help(FILE *out);

#endif
