/*
 * report/mark_facts.h - the moments that a recording has names for, and when it was disabled.
 */
#ifndef MT_MARK_FACTS_H
#define MT_MARK_FACTS_H

#include "common/artifact.h"
#include "report/aggregate.h"

struct mt_intern;

struct mt_moment {
	uint64_t time;
	uint32_t type;		/* enum mt_mark_type */
	const char *name;	/* of a mark, else "" */
	uint32_t nth;		/* of its name, from 1 */
	uint32_t order;		/* in the file */
	/* Of what happened before it, its live figures being those of that moment. */
	struct mt_totals totals;
};

struct mt_mark_facts {
	struct mt_moment *rows;	/* once sorted: by time, as in the file where equal */
	uint32_t n, cap;
};

/* What happened from one mark, inclusive, up to another. All zero: no such thing was asked for. */
struct mt_between {
	bool set;
	uint32_t from;		/* rows of the facts */
	uint32_t until;
};

/* Take a row of a marks block; strings are interned. 0, -ENOMEM, -MT_E_LIMIT. */
int mt_mark_facts_take(struct mt_mark_facts *facts, const struct mt_mark *row,
		       struct mt_intern *strings);
/* All rows are taken. 0 or -ENOMEM. */
int mt_mark_facts_sort(struct mt_mark_facts *facts);
void mt_mark_facts_release(struct mt_mark_facts *facts);

/*
 * Find the marks that texts[0] and texts[1] name: NAME, or NAME#N for the Nth of that name. Without
 * a number the first is the first of all, the second the first one after that. -ENOENT, and one
 * line in error, if there is no such mark, or none in this order.
 */
#define MT_BETWEEN_ERROR_MAX 512
int mt_mark_facts_find(const struct mt_mark_facts *facts, const char *const texts[2],
		       struct mt_between *ret_between, char error[MT_BETWEEN_ERROR_MAX]);

/* Nanoseconds of [from, until) in which the recording was disabled. */
uint64_t mt_mark_facts_disabled(const struct mt_mark_facts *facts, uint64_t from, uint64_t until);

#endif
