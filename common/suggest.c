#include "common/suggest.h"

#include <limits.h>

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

unsigned int mt_edit_distance(const char *a, const char *b)
{
	unsigned int rows[3][MT_SUGGEST_MAX + 1];
	unsigned int *before = rows[0], *prev = rows[1], *cur = rows[2], *spare;
	size_t la = strlen(a), lb = strlen(b), i, j;

	if (la > MT_SUGGEST_MAX || lb > MT_SUGGEST_MAX)
		return UINT_MAX;

	memset(rows, 0, sizeof(rows));
	for (j = 0; j <= lb; j++)
		prev[j] = j;
	for (i = 1; i <= la; i++) {
		cur[0] = i;
		for (j = 1; j <= lb; j++) {
			cur[j] = min3(prev[j] + 1, cur[j - 1] + 1,
				      prev[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < cur[j])
				cur[j] = before[j - 2] + 1;
		}
		spare = before;
		before = prev;
		prev = cur;
		cur = spare;
	}
	return prev[lb];
}

void mt_suggest_init(struct mt_suggest *suggest, const char *word)
{
	suggest->word = word;
	suggest->best = NULL;
	suggest->distance = UINT_MAX;
}

void mt_suggest_offer(struct mt_suggest *suggest, const char *candidate)
{
	size_t len = strlen(suggest->word);
	/* A third of the word may be wrong: one letter of "-jso", four of "--stack-sizes". */
	unsigned int limit = len < 3 ? 1 : (unsigned int)(len + 2) / 3;
	unsigned int distance = mt_edit_distance(suggest->word, candidate);

	/* A beginning of three letters says more than the letters that do not follow. */
	if (len >= 3 && !strncmp(suggest->word, candidate, len))
		distance = 1;
	if (distance <= limit && distance < suggest->distance) {
		suggest->distance = distance;
		suggest->best = candidate;
	}
}
