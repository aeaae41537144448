/*
 * report/call_paths.h - unwound stacks as call paths, each distinct one once.
 *
 * A call is a place in a file (or an address outside all files), wherever the file was mapped,
 * or in code that a process compiled there; a path is a chain of calls and the reason it ends.
 * Paths that begin alike share their outer calls. Many stack definitions lead to one path.
 */
#ifndef MT_CALL_PATHS_H
#define MT_CALL_PATHS_H

#include "report/unwind.h"

struct mt_paths;
struct mt_reader;
struct mt_session;

#define MT_PATHS_NONE UINT32_MAX

struct mt_call {
	struct mt_frame frame;	/* the first one seen of this call */
	uint32_t file;		/* of the session, MT_PATHS_NONE: in no mapping */
	uint64_t offset;	/* in the file; the pc if in no mapping */
};

/* The calls of a path stand in nodes; a node's parent is its caller. */
struct mt_path_node {
	uint32_t parent;	/* MT_PATHS_NONE: the outermost */
	uint32_t call;
};

struct mt_path {
	uint32_t leaf;		/* node of the innermost call; MT_PATHS_NONE: no frames */
	uint32_t n_calls;
	enum mt_unwind_end end;
};

int mt_paths_new(const struct mt_session *session, struct mt_paths **ret_paths);
void mt_paths_free(struct mt_paths *paths);

/* Take a stack's frames, innermost first. A second definition of an id is ignored and counted. */
int mt_paths_add(struct mt_paths *paths, const struct mt_stack *stack,
		 const struct mt_frame *frames, size_t n, enum mt_unwind_end end);
/*
 * Unwind every stack definition of an artifact, with an unwinder for each of the reader's workers.
 * 0, -ENOMEM, -errno.
 */
int mt_paths_load(struct mt_paths *paths, struct mt_reader *reader,
		  struct mt_unwinder *const *unwinders);

uint32_t mt_paths_definitions(const struct mt_paths *paths);
uint32_t mt_paths_redefinitions(const struct mt_paths *paths);
uint32_t mt_paths_count(const struct mt_paths *paths);
const struct mt_path *mt_paths_at(const struct mt_paths *paths, uint32_t path);
/* Definitions that ended for this reason. */
uint32_t mt_paths_ends(const struct mt_paths *paths, enum mt_unwind_end end);
/* Path of a stack id, MT_PATHS_NONE if it is not defined. */
uint32_t mt_paths_of_stack(const struct mt_paths *paths, uint32_t stack);

const struct mt_path_node *mt_paths_node(const struct mt_paths *paths, uint32_t node);
uint32_t mt_paths_calls(const struct mt_paths *paths);
const struct mt_call *mt_paths_call(const struct mt_paths *paths, uint32_t call);

#endif
