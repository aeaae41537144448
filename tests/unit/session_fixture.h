/*
 * tests/unit/session_fixture.h - sessions of rows that a test puts together.
 */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include <criterion/criterion.h>

#include "common/error.h"
#include "report/session.h"

#define LIB 0x10000ull

/* Rows in file order; each test appends to these. */
static struct mt_lifecycle lc[64];
static struct mt_mapping maps[64];
static size_t n_lc, n_maps;
static struct mt_session *session;

static inline void lifecycle(struct mt_lifecycle row)
{
	if (!row.name)
		row.name = "";
	if (!row.path)
		row.path = "";
	lc[n_lc++] = row;
}

static inline void start(uint32_t process, uint64_t time)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_START, .time = time, .process = process,
					 .pid = 100 + process, .name = "start" });
}

static inline void fork_at(uint64_t time, uint32_t parent, uint32_t child, bool shares)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_FORK, .time = time, .process = child,
					 .parent = parent, .pid = 100 + child,
					 .shares_memory = shares });
}

static inline void exec_at(uint64_t time, uint32_t process, const char *path)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_EXEC, .time = time, .process = process,
					 .name = "exec", .path = path });
}

static inline void exit_at(uint64_t time, uint32_t process)
{
	lifecycle((struct mt_lifecycle){ .type = MT_LC_EXIT, .time = time, .process = process,
					 .status = 256 });
}

static inline void map(uint64_t time, uint32_t process, uint64_t from, uint64_t to, uint64_t offset,
		const char *path)
{
	maps[n_maps++] = (struct mt_mapping){
		.type = MT_MAP_MAP, .time = time, .process = process, .start = from, .end = to,
		.offset = offset, .ino = 7, .dev_major = 8, .dev_minor = 1, .path = path,
	};
}

static inline void map_memory(uint64_t time, uint32_t process, uint64_t from, uint64_t to)
{
	maps[n_maps++] = (struct mt_mapping){
		.type = MT_MAP_MAP, .time = time, .process = process, .start = from, .end = to,
		.path = "//anon",
	};
}

static inline void unmap(uint64_t time, uint32_t process, uint64_t from, uint64_t to)
{
	maps[n_maps++] = (struct mt_mapping){
		.type = MT_MAP_UNMAP, .time = time, .process = process, .start = from, .end = to,
		.path = "",
	};
}

static inline void clear(uint64_t time, uint32_t process)
{
	maps[n_maps++] = (struct mt_mapping){
		.type = MT_MAP_EXEC_CLEAR, .time = time, .process = process, .path = "",
	};
}

static inline void build(void)
{
	cr_assert_eq(mt_session_build(lc, n_lc, maps, n_maps, &session), 0);
}

static inline void fini(void)
{
	mt_session_free(session);
}

/* Path of what holds addr, and its file offset there; "" for nothing. */
static inline const char *at(uint32_t process, uint64_t time, uint64_t addr, uint64_t *ret_offset)
{
	uint32_t index = mt_session_find(session, process, time, addr);
	const struct mt_placement *placement;

	*ret_offset = 0;
	if (index == MT_NONE)
		return "";
	placement = mt_session_placement(session, index);
	cr_assert_leq(placement->start, addr);
	cr_assert_gt(placement->end, addr);
	cr_assert_leq(placement->from, time);
	*ret_offset = placement->offset + (addr - placement->start);
	return mt_session_file(session, placement->file)->path;
}

#define EXPECT_AT(process, time, addr, path, offset) do { \
	uint64_t got_offset; \
	cr_expect_str_eq(at(process, time, addr, &got_offset), path); \
	cr_expect_eq(got_offset, (uint64_t)(offset)); \
} while (0)

#endif
