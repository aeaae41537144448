/*
 * common/suggest.h - what did the user mean by a mistyped word?
 */
#ifndef MT_SUGGEST_H
#define MT_SUGGEST_H

#include <stddef.h>

#define MT_SUGGEST_MAX 63	/* longer words get no suggestion */

/*
 * Insertions, deletions, substitutions and swaps of neighbours that turn a into b;
 * UINT_MAX if either is longer than MT_SUGGEST_MAX.
 */
unsigned int mt_edit_distance(const char *a, const char *b);

struct mt_suggest {
	const char *word;
	const char *best;	/* borrowed from the candidates; NULL while none is near enough */
	unsigned int distance;
};

/* Offer candidates one by one; the nearest wins, ties go to the first one offered. */
void mt_suggest_init(struct mt_suggest *suggest, const char *word);
void mt_suggest_offer(struct mt_suggest *suggest, const char *candidate);

#endif
