#include "record/recent_code.h"

#include "record/losses.h"
#include "record/programs.h"

void mt_recent_code_add(struct mt_recent_code *recent, uint32_t pid, uint64_t start, uint64_t end)
{
	if (end > start)
		recent->ranges[recent->n++ % MT_RECENT_CODE_MAX] = (struct mt_recent_range){
			pid, start, end,
		};
}

void mt_recent_code_make_up(struct mt_recent_code *recent, const struct mt_programs *programs)
{
	uint64_t missed = mt_programs_missed(programs, MT_MISSED_CALL);
	uint32_t n = recent->n < MT_RECENT_CODE_MAX ? recent->n : MT_RECENT_CODE_MAX, i;

	if (missed == recent->missed)
		return;
	recent->missed = missed;
	for (i = 0; i < n; i++)
		mt_programs_add_code(programs, recent->ranges[i].pid, recent->ranges[i].start,
				     recent->ranges[i].end);
}
