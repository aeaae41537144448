/* Replaying the events of an artifact. */
#include "report/aggregate.h"
#include "report/reader.h"
#include "report/timeline.h"

static int next_events(void *arg, const struct mt_event **ret_events, size_t *ret_n)
{
	const struct mt_block *block;
	int err = mt_reader_next(arg, &block);

	if (err <= 0)
		return err;
	*ret_events = block->events;
	*ret_n = block->n;
	return 1;
}

int mt_timeline_open(struct mt_reader *reader, const struct mt_session *session,
		     struct mt_timeline **ret_timeline)
{
	mt_reader_rewind(reader, MT_KIND_BIT(MT_BLOCK_EVENTS));
	return mt_timeline_new(next_events, reader, mt_reader_max_lag(reader), session,
			       ret_timeline);
}

int mt_profile_build(struct mt_reader *reader, const struct mt_session *session,
		     const struct mt_profile_scope *scope, struct mt_profile **ret_profile)
{
	struct mt_timeline *timeline;
	int err = mt_timeline_open(reader, session, &timeline);

	if (err)
		return err;
	err = mt_profile_replay(timeline, session, scope, ret_profile);
	mt_timeline_free(timeline);
	return err;
}
