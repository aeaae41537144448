/*
 * report/session_rows.h - the inside of struct mt_session, for session*.c only.
 */
#ifndef MT_SESSION_ROWS_H
#define MT_SESSION_ROWS_H

#include "report/addr_tree.h"
#include "report/session.h"

#define MT_SESSION_ROWS_MAX (1u << 23)		/* lifecycle rows, mapping rows: each */
#define MT_SESSION_PLACEMENTS_MAX (1u << 23)
#define MT_SESSION_INHERITED_MAX (1u << 20)	/* listed again for children */

struct mt_intern;

/* From this time on the process lives in this space. */
struct mt_epoch {
	uint64_t from;
	uint32_t process;
	uint32_t space;
};

/* From this time on the space's placements are those of root. */
struct mt_space_version {
	uint64_t time;
	uint32_t space;
	uint32_t root;
};

struct mt_space {
	uint32_t owner;		/* process index */
	uint32_t parent;	/* space it was forked from, MT_NONE */
	uint32_t root;		/* current while building */
	uint32_t fork_root;	/* inherited */
	uint32_t refs;		/* processes that live in it, while building */
	uint64_t from, until;
	uint32_t first_version, n_versions;
};

struct mt_session {
	struct mt_intern *strings;
	struct mt_process *processes;
	struct mt_thread *threads;
	struct mt_lifecycle *lifecycle;	/* sorted; strings interned */
	struct mt_file *files;
	struct mt_placement *placements;
	uint32_t *placement_spaces;	/* per placement, the space that made it */
	struct mt_epoch *epochs;	/* sorted by (process, from) */
	uint32_t *first_epoch;		/* per process + 1 */
	struct mt_space *spaces;
	struct mt_space_version *versions;	/* sorted by (space, time) */
	struct mt_addr_trees trees;
	uint32_t n_processes, n_threads, n_lifecycle, n_files, n_placements, n_epochs, n_spaces;
	uint32_t n_versions;
	uint64_t bad_rows;
};

/* Make room for one more element in *items of size bytes each, n of cap used; grows cap. */
int mt_session_grow(void *items, uint32_t n, uint32_t *cap, size_t size, uint32_t limit);

/* While building: an inherited placement goes from the child's view only. */
struct mt_hidden {
	uint32_t space;
	uint32_t placement;
	uint64_t time;
};

struct mt_space_build {
	struct mt_session *session;
	const struct mt_mapping *mappings;
	uint32_t *space_of;	/* per process, current; MT_NONE */
	bool *cleared;		/* per process: its exec row is still to come */
	bool *gone;		/* per process: has left its space for good */
	struct mt_hidden *hidden;
	uint32_t *file_slots;	/* hash of file index + 1 */
	uint32_t hidden_cap, n_hidden, placements_cap, spaces_cap, epochs_cap, versions_cap;
	uint32_t files_cap, slots_cap;
};

/* Changes of a space at row->time or time; its root is the new one, not yet logged. */
int mt_space_map(struct mt_space_build *b, const struct mt_mapping *row, uint32_t space);
int mt_space_clear(struct mt_space_build *b, uint32_t space, uint64_t start, uint64_t end,
		   uint64_t time);
/* Append to the list of placements only. */
int mt_space_list(struct mt_space_build *b, uint32_t space, const struct mt_placement *placement);

/*
 * Once all is replayed: end what was still mapped with its space, and list again what a forked
 * child inherited and what a CLONE_VM child shares.
 */
int mt_space_list_views(struct mt_space_build *b);

/* Root of a space's placements at this time. false: it was not there yet. */
bool mt_space_root_at(const struct mt_session *session, uint32_t space, uint64_t time,
		      uint32_t *ret_root);

/* Second half of building: address spaces from session->lifecycle and the mapping rows. */
int mt_session_build_spaces(struct mt_session *session, const struct mt_mapping *mappings,
			    size_t n);

#endif
