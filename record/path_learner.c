#include "record/path_learner.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>

#include "bpf/mt_ring.h"
#include "record/clock.h"
#include "record/code_layout.h"
#include "record/frame_row.h"
#include "record/programs.h"
#include "record/remote_memory.h"
#include "record/timed_wait.h"

#define END_NS 1000000000u	/* for the stack at hand, before it is given up */
#define OFFERS 32u	/* a power of two */
#define ROWS (1u << 17)
#define NEW_ROWS_MAX MT_PATH_FRAMES_MAX

/* x86-64 registers by DWARF number. */
#define REG_RBP 6
#define REG_RSP 7
#define REG_RIP 16

struct offer {
	uint32_t pid;
	uint32_t id;
	uint32_t flags;
	uint32_t n_bytes;
	uint64_t generation;
	uint64_t above;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint8_t bytes[MT_RING_STACK_MAX];
};

/* A row; 0 where the code has none. */
struct known_row {
	struct mt_frame_key key;	/* generation 0: a free place */
	uint64_t row;
};

struct mt_path_learner {
	pthread_mutex_t telling;
	const struct mt_programs *programs;	/* NULL: there is nobody to be told any more */
	struct mt_remote_memory *memory;
	struct mt_code_layout *layout;
	struct known_row *rows;
	uint32_t n_rows;
	struct known_row new_rows[NEW_ROWS_MAX];	/* of the stack at hand */
	uint32_t n_new;
	struct offer *offers;
	pthread_t thread;
	pthread_mutex_t lock;	/* of all below; what lies between them is the thread's */
	pthread_cond_t offered;
	pthread_cond_t over;
	uint32_t first;
	uint32_t end;
	bool ending;
	bool ended;
};

static struct known_row *place_of(struct mt_path_learner *learner, const struct mt_frame_key *key)
{
	uint64_t hash = mt_fold(mt_fold(MT_FNV_BASIS, key->generation), key->pc);
	uint32_t i = (uint32_t)(hash >> 32) & (ROWS - 1);

	while (learner->rows[i].key.generation &&
	       (learner->rows[i].key.generation != key->generation ||
		learner->rows[i].key.pc != key->pc))
		i = (i + 1) & (ROWS - 1);
	return &learner->rows[i];
}

/* The row of the code at key; false: it is not known whether there is one. */
static bool row_of(struct mt_path_learner *learner, int pid, const struct mt_frame_key *key,
		   uint64_t *ret_row)
{
	const struct known_row *known = place_of(learner, key);
	uint64_t pc = key->pc & MT_FRAME_EXACT ? key->pc & ~MT_FRAME_EXACT : key->pc - 1;
	const struct mt_frame_table *table;
	struct known_row *new_row;

	if (known->key.generation) {
		*ret_row = known->row;
		return true;
	}
	if (learner->n_new == NEW_ROWS_MAX)
		return false;
	table = mt_code_layout_find(learner->layout, learner->memory, pid, key->generation, pc);
	if (!table)
		return false;
	new_row = &learner->new_rows[learner->n_new++];
	new_row->key = *key;
	if (!mt_frame_row(learner->memory, table, pc, &new_row->row))
		new_row->row = 0;
	*ret_row = new_row->row;
	return true;
}

static uint64_t word_at(const struct offer *offer, uint64_t at)
{
	uint64_t word;

	memcpy(&word, offer->bytes + at, sizeof(word));
	return word;
}

/* As bpf/stack_path.bpf.h does it: the digest, or 0. */
static uint64_t walk(struct mt_path_learner *learner, const struct offer *offer)
{
	struct mt_frame_key key = { offer->generation, offer->pc | MT_FRAME_EXACT };
	uint64_t hash = mt_path_begin(key.generation, offer->pc);
	uint64_t sp = offer->sp, fp = offer->fp, row, at, saved;
	uint32_t i;

	for (i = 0; i < MT_PATH_FRAMES_MAX; i++) {
		if (!row_of(learner, (int)offer->pid, &key, &row) || !row)
			return 0;
		if (MT_FRAME_BASE(row) == MT_FRAME_END)
			return hash;
		at = mt_frame_cfa(row, offer->sp, sp, fp);
		if (!at)
			return 0;
		if (at > offer->n_bytes)
			return offer->flags ? mt_path_cut(hash, offer->above) : 0;
		key.pc = word_at(offer, at - 8);
		saved = (uint64_t)MT_FRAME_SAVED(row) * 8;
		if (saved > at)
			return 0;
		if (saved)
			fp = word_at(offer, at - saved);
		sp = at + offer->sp;
		hash = mt_fold(hash, key.pc);
	}
	return 0;
}

static void keep_rows(struct mt_path_learner *learner, const struct mt_programs *programs)
{
	const int rows_fd = mt_programs_frame_rows_fd(programs);
	struct known_row *place;
	uint32_t i;

	if (learner->n_rows + learner->n_new > ROWS / 4 * 3) {
		memset(learner->rows, 0, ROWS * sizeof(*learner->rows));
		learner->n_rows = 0;
	}
	for (i = 0; i < learner->n_new; i++) {
		place = place_of(learner, &learner->new_rows[i].key);
		learner->n_rows += !place->key.generation;
		*place = learner->new_rows[i];
		if (place->row)
			bpf_map_update_elem(rows_fd, &place->key, &place->row, BPF_ANY);
	}
}

/* What was read is what the stack was about only if nothing has gone since. */
static void tell(struct mt_path_learner *learner, const struct mt_programs *programs,
		 const struct offer *offer, uint64_t path)
{
	if (learner->n_new &&
	    mt_programs_code_generation(programs, offer->pid) != offer->generation)
		return;
	keep_rows(learner, programs);
	if (path)
		bpf_map_update_elem(mt_programs_seen_stacks_fd(programs), &path, &offer->id,
				    BPF_NOEXIST);
}

static void learn(struct mt_path_learner *learner, const struct offer *offer)
{
	uint64_t path;

	mt_remote_memory_select(learner->memory, (int)offer->pid, offer->generation);
	learner->n_new = 0;
	path = walk(learner, offer);
	pthread_mutex_lock(&learner->telling);
	if (learner->programs)
		tell(learner, learner->programs, offer, path);
	pthread_mutex_unlock(&learner->telling);
}

static void *run(void *arg)
{
	struct mt_path_learner *learner = arg;

	pthread_mutex_lock(&learner->lock);
	while (!learner->ending) {
		if (learner->first == learner->end) {
			pthread_cond_wait(&learner->offered, &learner->lock);
			continue;
		}
		pthread_mutex_unlock(&learner->lock);
		learn(learner, &learner->offers[learner->first % OFFERS]);
		pthread_mutex_lock(&learner->lock);
		learner->first++;
	}
	learner->ended = true;
	pthread_cond_signal(&learner->over);
	pthread_mutex_unlock(&learner->lock);
	return NULL;
}

void mt_path_learner_offer(struct mt_path_learner *learner, const void *data, size_t len)
{
	const struct mt_ring_stack *stack = data;
	struct offer *offer;
	bool full;

	if (!learner || len < sizeof(*stack) || stack->n_bytes > len - sizeof(*stack) ||
	    stack->n_bytes > MT_RING_STACK_MAX || !stack->generation)
		return;
	pthread_mutex_lock(&learner->lock);
	full = learner->end - learner->first == OFFERS;
	pthread_mutex_unlock(&learner->lock);
	if (full)
		return;
	offer = &learner->offers[learner->end % OFFERS];
	offer->pid = stack->pid;
	offer->id = stack->id;
	offer->flags = stack->flags;
	offer->n_bytes = stack->n_bytes;
	offer->generation = stack->generation;
	offer->above = stack->above;
	offer->pc = stack->regs[REG_RIP];
	offer->sp = stack->regs[REG_RSP];
	offer->fp = stack->regs[REG_RBP];
	memcpy(offer->bytes, stack + 1, stack->n_bytes);
	pthread_mutex_lock(&learner->lock);
	learner->end++;
	pthread_cond_signal(&learner->offered);
	pthread_mutex_unlock(&learner->lock);
}

int mt_path_learner_start(const struct mt_programs *programs, struct mt_path_learner **ret_learner)
{
	struct mt_path_learner *learner = calloc(1, sizeof(*learner));
	int err = -ENOMEM;

	if (!learner)
		return -ENOMEM;
	learner->programs = programs;
	pthread_mutex_init(&learner->telling, NULL);
	pthread_mutex_init(&learner->lock, NULL);
	mt_cond_init(&learner->over);
	pthread_cond_init(&learner->offered, NULL);
	learner->rows = calloc(ROWS, sizeof(*learner->rows));
	learner->offers = calloc(OFFERS, sizeof(*learner->offers));
	if (learner->rows && learner->offers)
		err = mt_remote_memory_new(&learner->memory);
	if (!err)
		err = mt_code_layout_new(&learner->layout);
	if (!err)
		err = -pthread_create(&learner->thread, NULL, run, learner);
	if (err) {
		learner->ending = true;
		mt_path_learner_free(learner);
		return err;
	}
	*ret_learner = learner;
	return 0;
}

/* false: it is held up, and has been left behind. */
static bool end_thread(struct mt_path_learner *learner)
{
	const uint64_t until = mt_now() + END_NS;
	bool ended;

	pthread_mutex_lock(&learner->lock);
	learner->ending = true;
	pthread_cond_signal(&learner->offered);
	while (!learner->ended)
		if (!mt_cond_wait_until(&learner->over, &learner->lock, until))
			break;
	ended = learner->ended;
	pthread_mutex_unlock(&learner->lock);
	if (ended) {
		pthread_join(learner->thread, NULL);
		return true;
	}
	pthread_mutex_lock(&learner->telling);
	learner->programs = NULL;
	pthread_mutex_unlock(&learner->telling);
	pthread_detach(learner->thread);
	return false;
}

void mt_path_learner_free(struct mt_path_learner *learner)
{
	/* What could not be started is free of its thread. */
	if (!learner || (!learner->ending && !end_thread(learner)))
		return;
	pthread_cond_destroy(&learner->over);
	pthread_cond_destroy(&learner->offered);
	pthread_mutex_destroy(&learner->telling);
	pthread_mutex_destroy(&learner->lock);
	mt_code_layout_free(learner->layout);
	mt_remote_memory_free(learner->memory);
	free(learner->offers);
	free(learner->rows);
	free(learner);
}
