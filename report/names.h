/*
 * report/names.h - the source-level functions of every call of a set of paths, each call
 * symbolized once.
 */
#ifndef MT_NAMES_H
#define MT_NAMES_H

#include "report/call_paths.h"
#include "report/symbolize.h"

struct mt_names;

struct mt_workers;

/* mt_symbolize(), or what stands for it. */
typedef int (*mt_name_fn)(void *arg, const struct mt_frame *frame,
			  const struct mt_location **ret_locations, size_t *ret_n);

/*
 * All calls of paths, named by name; its locations outlive the names. Calls of one file are named
 * one after the other, those of different files by any of the workers. 0, or an error of name.
 */
int mt_names_load(mt_name_fn name, void *arg, const struct mt_paths *paths,
		  struct mt_workers *workers, struct mt_names **ret_names);
void mt_names_free(struct mt_names *names);

/* Innermost inlined function first; at least one. */
const struct mt_location *mt_names_of(const struct mt_names *names, uint32_t call, size_t *ret_n);

#endif
