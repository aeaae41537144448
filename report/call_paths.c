#include "report/call_paths.h"

#include "common/buf.h"
#include "common/error.h"
#include "common/grow.h"
#include "report/id_map.h"
#include "report/intern.h"
#include "report/reader.h"
#include "report/session.h"

#include <errno.h>

struct mt_paths {
	const struct mt_session *session;
	struct mt_call *calls;
	uint32_t *call_slots;		/* hash of call index + 1 */
	struct mt_path_node *nodes;
	struct mt_key_table node_index;	/* (parent, call) to node */
	struct mt_path *paths;
	struct mt_key_table path_index;	/* (leaf, end) to path */
	struct mt_id_map stacks;
	uint32_t *path_of;		/* per slot of stacks */
	uint32_t n_calls, calls_cap, call_slots_cap, n_nodes, nodes_cap, n_paths, paths_cap;
	uint32_t path_of_cap, redefinitions;
	uint32_t ends[MT_UNWIND_END_KINDS];
};

int mt_paths_new(const struct mt_session *session, struct mt_paths **ret_paths)
{
	struct mt_paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return -ENOMEM;
	paths->session = session;
	*ret_paths = paths;
	return 0;
}

void mt_paths_free(struct mt_paths *paths)
{
	if (!paths)
		return;
	free(paths->calls);
	free(paths->call_slots);
	free(paths->nodes);
	mt_key_table_release(&paths->node_index);
	free(paths->paths);
	mt_key_table_release(&paths->path_index);
	mt_id_map_release(&paths->stacks);
	free(paths->path_of);
	free(paths);
}

static bool same_call(const struct mt_call *a, const struct mt_call *b)
{
	return a->file == b->file && a->offset == b->offset && a->frame.exact == b->frame.exact &&
	       a->frame.jit == b->frame.jit;
}

static uint32_t *call_slot(struct mt_paths *paths, const struct mt_call *call)
{
	uint64_t key = call->offset * 0x9e3779b97f4a7c15ull ^ ((uint64_t)call->file << 1) ^
		       call->frame.exact ^ (uint64_t)call->frame.jit << 32;
	size_t i = mt_hash_bytes(MT_HASH_SEED, &key, sizeof(key)) & (paths->call_slots_cap - 1);

	while (paths->call_slots[i] &&
	       !same_call(&paths->calls[paths->call_slots[i] - 1], call))
		i = (i + 1) & (paths->call_slots_cap - 1);
	return &paths->call_slots[i];
}

static int grow_call_slots(struct mt_paths *paths)
{
	uint32_t cap = paths->call_slots_cap ? paths->call_slots_cap * 2 : 1024, i;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(paths->call_slots);
	paths->call_slots = slots;
	paths->call_slots_cap = cap;
	for (i = 0; i < paths->n_calls; i++)
		*call_slot(paths, &paths->calls[i]) = i + 1;
	return 0;
}

static int find_call(struct mt_paths *paths, const struct mt_frame *frame, uint32_t *ret_call)
{
	struct mt_call call = { .frame = *frame, .file = MT_PATHS_NONE, .offset = frame->pc };
	const struct mt_placement *placement;
	uint32_t *slot;
	int err;

	if (frame->placement != MT_NONE) {
		placement = mt_session_placement(paths->session, frame->placement);
		call.file = placement->file;
		call.offset = placement->offset + (frame->pc - placement->start);
	}
	if (paths->n_calls >= paths->call_slots_cap / 2) {
		err = grow_call_slots(paths);
		if (err)
			return err;
	}
	slot = call_slot(paths, &call);
	if (!*slot) {
		err = mt_grow(&paths->calls, paths->n_calls, &paths->calls_cap, sizeof(call),
			      MT_GROW_MAX);
		if (err)
			return err;
		paths->calls[paths->n_calls++] = call;
		*slot = paths->n_calls;
	}
	*ret_call = *slot - 1;
	return 0;
}

/* The number stored under a key of two halves, or next for a new key (*ret_new). */
static int index_pair(struct mt_key_table *table, uint32_t a, uint32_t b, uint32_t next,
		      uint32_t *ret_value, bool *ret_new)
{
	/* a + 1 wraps to 0 for MT_PATHS_NONE, b + 1 does not: the key is never 0. */
	uint64_t key = (uint64_t)(a + 1) << 32 | (b + 1);
	const struct mt_key_entry *old = mt_key_table_find(table, key);

	*ret_new = !old;
	*ret_value = old ? old->value : next;
	return old ? 0 : mt_key_table_add(table, key, next);
}

static int find_node(struct mt_paths *paths, uint32_t parent, uint32_t call, uint32_t *ret_node)
{
	bool new;
	int err;

	err = mt_grow(&paths->nodes, paths->n_nodes, &paths->nodes_cap, sizeof(*paths->nodes),
		      MT_GROW_MAX);
	if (!err)
		err = index_pair(&paths->node_index, parent, call, paths->n_nodes, ret_node, &new);
	if (!err && new)
		paths->nodes[paths->n_nodes++] = (struct mt_path_node){ parent, call };
	return err;
}

static int find_path(struct mt_paths *paths, const struct mt_path *path, uint32_t *ret_path)
{
	bool new;
	int err;

	err = mt_grow(&paths->paths, paths->n_paths, &paths->paths_cap, sizeof(*paths->paths),
		      MT_GROW_MAX);
	if (!err)
		err = index_pair(&paths->path_index, path->leaf, path->end, paths->n_paths,
				 ret_path, &new);
	if (!err && new)
		paths->paths[paths->n_paths++] = *path;
	return err;
}

int mt_paths_add(struct mt_paths *paths, const struct mt_stack *stack,
		 const struct mt_frame *frames, size_t n, enum mt_unwind_end end)
{
	struct mt_path path = { .leaf = MT_PATHS_NONE, .n_calls = (uint32_t)n, .end = end };
	uint32_t call, slot = mt_id_map_count(&paths->stacks);
	size_t i;
	int err;

	if (mt_id_map_find(&paths->stacks, stack->id) != UINT32_MAX) {
		paths->redefinitions++;
		return 0;
	}
	for (i = n; i-- > 0;) {
		err = find_call(paths, &frames[i], &call);
		if (!err)
			err = find_node(paths, path.leaf, call, &path.leaf);
		if (err)
			return err;
	}
	err = mt_grow(&paths->path_of, slot, &paths->path_of_cap, sizeof(*paths->path_of),
		      MT_GROW_MAX);
	if (!err)
		err = find_path(paths, &path, &paths->path_of[slot]);
	if (!err)
		err = mt_id_map_add(&paths->stacks, stack->id);
	if (!err)
		paths->ends[end]++;
	return err;
}

/* Of a stack that was unwound; its frames stand behind it. */
struct unwound {
	uint32_t n;
	uint32_t end;		/* enum mt_unwind_end */
};

static int put_unwound(const struct mt_unwound *unwound, struct mt_buf *result)
{
	struct unwound head = { (uint32_t)unwound->n, unwound->end };
	int err = mt_buf_append(result, &head, sizeof(head));

	return err ? err : mt_buf_append(result, unwound->frames,
					 unwound->n * sizeof(*unwound->frames));
}

/* mt_reader_work_fn */
static int unwind_block(void *arg, unsigned int worker, const struct mt_block *block,
			struct mt_buf *result)
{
	struct mt_unwinder *const *unwinders = arg;
	const struct mt_stack *stacks[MT_UNWIND_AT_ONCE];
	struct mt_unwound unwound[MT_UNWIND_AT_ONCE];
	uint32_t i, k, n;
	int err = 0;

	for (i = 0; i < block->n; i += n) {
		for (n = 0; n < MT_UNWIND_AT_ONCE && i + n < block->n; n++)
			stacks[n] = &block->stacks[i + n];
		mt_unwind_some(unwinders[worker], stacks, n, unwound);
		for (k = 0; k < n && !err; k++)
			err = put_unwound(&unwound[k], result);
		if (err)
			return err;
	}
	return 0;
}

static int add_block(struct mt_paths *paths, const struct mt_block *block,
		     const struct mt_buf *result)
{
	const uint8_t *at = result->data;
	const struct unwound *head;
	uint32_t i;
	int err = 0;

	for (i = 0; i < block->n && !err; i++) {
		head = (const struct unwound *)at;
		at += sizeof(*head);
		err = mt_paths_add(paths, &block->stacks[i], (const struct mt_frame *)at, head->n,
				   (enum mt_unwind_end)head->end);
		at += head->n * sizeof(struct mt_frame);
	}
	return err;
}

int mt_paths_load(struct mt_paths *paths, struct mt_reader *reader,
		  struct mt_unwinder *const *unwinders)
{
	const struct mt_block *block;
	int err;

	_Static_assert(sizeof(struct unwound) % _Alignof(struct mt_frame) == 0, "frames behind it");
	mt_reader_rewind_for(reader, MT_KIND_BIT(MT_BLOCK_STACKS), unwind_block, (void *)unwinders);
	while ((err = mt_reader_next(reader, &block)) > 0) {
		err = add_block(paths, block, mt_reader_result(reader));
		if (err)
			break;
	}
	/* Nobody uses the unwinders any more. */
	mt_reader_rewind(reader, ~0u);
	return err;
}

uint32_t mt_paths_definitions(const struct mt_paths *paths)
{
	return mt_id_map_count(&paths->stacks);
}

uint32_t mt_paths_redefinitions(const struct mt_paths *paths)
{
	return paths->redefinitions;
}

uint32_t mt_paths_count(const struct mt_paths *paths)
{
	return paths->n_paths;
}

const struct mt_path *mt_paths_at(const struct mt_paths *paths, uint32_t path)
{
	return &paths->paths[path];
}

uint32_t mt_paths_ends(const struct mt_paths *paths, enum mt_unwind_end end)
{
	return paths->ends[end];
}

uint32_t mt_paths_of_stack(const struct mt_paths *paths, uint32_t stack)
{
	uint32_t slot = mt_id_map_find(&paths->stacks, stack);

	return slot == UINT32_MAX ? MT_PATHS_NONE : paths->path_of[slot];
}

const struct mt_path_node *mt_paths_node(const struct mt_paths *paths, uint32_t node)
{
	return &paths->nodes[node];
}

uint32_t mt_paths_calls(const struct mt_paths *paths)
{
	return paths->n_calls;
}

const struct mt_call *mt_paths_call(const struct mt_paths *paths, uint32_t call)
{
	return &paths->calls[call];
}
