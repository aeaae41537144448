/*
 * tests/bench/steps.c - a fixed amount of one step's work, whose instructions can be counted.
 *
 *	steps encode|decode|aggregate|unwind
 *
 * tests/bench/instructions.sh counts what the function of the step takes, under callgrind.
 */
#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "report/aggregate.h"
#include "report/session.h"
#include "report/timeline.h"
#include "report/unwind.h"
#include "tests/oracle/capture.h"

#define ROWS 32768u
#define BLOCKS 4u
#define DEPTHS 48u
#define ROUNDS 40u

static struct mt_event events[ROWS];
static struct mt_capture captures[DEPTHS];

static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* 48 % allocations of 8 sizes, 10 % reallocs, frees; 4 threads. */
static void make_events(void)
{
	static const uint32_t sizes[8] = { 16, 24, 32, 48, 64, 100, 256, 1024 };
	uint64_t time = 1000000000000ull, r;
	uint32_t i;

	for (i = 0; i < ROWS; i++) {
		struct mt_event *event = &events[i];

		r = next_random();
		time += 50 + r % 1951;
		event->time = event->begin = time;
		event->thread = r >> 12 & 3;
		event->addr = 0x55d000000000ull + (r >> 20 & 0x3ffff) * 32;
		event->type = r % 100 < 48 ? MT_EV_MALLOC : r % 100 < 58 ? MT_EV_REALLOC :
			      MT_EV_FREE;
		if (event->type == MT_EV_FREE)
			continue;
		event->size = sizes[r >> 40 & 7];
		event->stack = 1 + (r >> 44) % 3000;
		if (event->type == MT_EV_MALLOC)
			continue;
		event->begin = time - 200;
		event->old_addr = event->addr ^ 0x1000;
	}
}

static int encode_and_decode(void)
{
	struct mt_block block;
	struct mt_buf buf;
	size_t used;
	uint32_t i;
	int err = 0;

	mt_buf_init(&buf);
	mt_block_init(&block);
	make_events();
	for (i = 0; i < BLOCKS && !err; i++) {
		mt_buf_reset(&buf);
		err = mt_encode_events(&buf, events, ROWS);
		if (!err)
			err = mt_block_decode(&block, buf.data, buf.len, ~0u, &used);
	}
	mt_block_release(&block);
	mt_buf_release(&buf);
	return err;
}

/* A heap that grows: more allocations than frees, of any block that is live. */
static void make_heap(void)
{
	static uint64_t live[ROWS];
	uint64_t time = 1000000000000ull, r;
	uint32_t i, k, n_live = 0;

	for (i = 0; i < ROWS; i++) {
		r = next_random();
		time += 50 + r % 1951;
		events[i] = (struct mt_event){ .time = time, .begin = time,
					       .thread = r >> 12 & 3, .type = MT_EV_FREE };
		if (!n_live || r % 100 < 55) {
			events[i].type = MT_EV_MALLOC;
			events[i].addr = live[n_live++] = 0x55d000000000ull + i * 32;
			events[i].size = 16 << (r >> 40 & 7);
			events[i].stack = 1 + (r >> 44) % 3000;
		} else {
			k = (r >> 20) % n_live;
			events[i].addr = live[k];
			live[k] = live[--n_live];
		}
	}
}

static int next_events(void *arg, const struct mt_event **ret_events, size_t *ret_n)
{
	bool *given = arg;

	if (*given)
		return 0;
	*given = true;
	*ret_events = events;
	*ret_n = ROWS;
	return 1;
}

static int aggregate(void)
{
	struct mt_lifecycle rows[5] = { { .type = MT_LC_START, .pid = 1, .name = "", .path = "" } };
	struct mt_timeline *timeline = NULL;
	struct mt_session *session = NULL;
	struct mt_profile *profile = NULL;
	bool given = false;
	uint32_t i;
	int err;

	for (i = 0; i < 4; i++)
		rows[1 + i] = (struct mt_lifecycle){ .type = MT_LC_THREAD, .thread = i,
						     .tid = 1 + i, .name = "", .path = "" };
	make_heap();
	err = mt_session_build(rows, MT_ARRAY_SIZE(rows), NULL, 0, &session);
	if (!err)
		err = mt_timeline_new(next_events, &given, 0, session, &timeline);
	if (!err)
		err = mt_profile_replay(timeline, session, NULL, &profile);
	if (!err && (mt_profile_totals(profile)->events != ROWS ||
		     mt_profile_totals(profile)->unmatched_frees))
		err = -MT_E_CORRUPT;
	mt_profile_free(profile);
	mt_timeline_free(timeline);
	mt_session_free(session);
	return err;
}

/* Frames of several sizes, taken at each depth. */
static __attribute__((noinline)) void nest(unsigned int depth)
{
	volatile char *space = __builtin_alloca(32 + depth % 5 * 48);

	space[0] = (char)depth;
	captures[depth].budget = MT_STACK_BYTES_MAX;
	mt_capture(&captures[depth]);
	if (depth + 1 < DEPTHS)
		nest(depth + 1);
	space[1] = space[0];
}

static int unwind(void)
{
	const struct mt_frame *frames;
	struct mt_capture_code *code;
	struct mt_unwinder *unwinder;
	enum mt_unwind_end end;
	struct mt_stack stack;
	uint32_t i, k;
	size_t n;
	int err = mt_capture_code_new(&code);

	if (!err)
		err = mt_unwinder_new("x86_64", UINT64_MAX, mt_capture_find, code, &unwinder);
	if (err)
		return err;
	mt_capture_prepare();
	nest(0);
	for (i = 0; i < ROUNDS && !err; i++) {
		for (k = 0; k < DEPTHS; k++) {
			mt_capture_stack(&captures[k], &stack);
			n = mt_unwind(unwinder, &stack, &frames, &end);
			if (end != MT_UNWIND_COMPLETE || n < k + 3)
				err = -MT_E_CORRUPT;
		}
	}
	mt_unwinder_free(unwinder);
	mt_capture_code_free(code);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2) {
		fputs("usage: steps encode|decode|aggregate|unwind\n", stderr);
		return 64;
	}
	if (!strcmp(argv[1], "aggregate"))
		err = aggregate();
	else
		err = strcmp(argv[1], "unwind") ? encode_and_decode() : unwind();
	if (err)
		fprintf(stderr, "steps: %s: %s\n", argv[1], mt_strerror(err));
	return err != 0;
}
