/* Which file of a session takes which note of the recorder's. */
#include "report/session.h"

#include <criterion/criterion.h>

static struct mt_session *session;

static void free_session(void)
{
	mt_session_free(session);
}

TestSuite(session_notes, .fini = free_session);

/* Which note a file took, by its size; 0: none. */
static uint64_t noted_size(const char *path)
{
	uint32_t i;

	for (i = 0; i < mt_session_files(session); i++)
		if (!strcmp(mt_session_file(session, i)->path, path))
			return mt_session_file(session, i)->noted ?
			       mt_session_file(session, i)->size : 0;
	return 0;
}

Test(session_notes, notes_are_for_the_same_inode_and_prefer_the_same_path)
{
	static const uint8_t id[] = { 1, 2, 3 };
	struct mt_mapping rows[] = {
		{ .time = 1, .type = MT_MAP_MAP, .start = 0x1000, .end = 0x2000, .ino = 5,
		  .dev_major = 8, .path = "/a" },
		{ .time = 1, .type = MT_MAP_MAP, .start = 0x3000, .end = 0x4000, .ino = 5,
		  .dev_major = 8, .path = "/link-to-a" },
		{ .time = 1, .type = MT_MAP_MAP, .start = 0x5000, .end = 0x6000, .ino = 5,
		  .dev_major = 9, .path = "/other-device" },
		{ .time = 1, .type = MT_MAP_MAP, .start = 0x7000, .end = 0x8000, .ino = 6,
		  .dev_major = 8, .generation = 2, .path = "/used-again" },
		{ .time = 1, .type = MT_MAP_MAP, .start = 0x9000, .end = 0xa000,
		  .path = "[vdso]" },
		{ .time = 1, .type = MT_MAP_MAP, .start = 0xb000, .end = 0xc000,
		  .path = "//anon" },
	};
	const struct mt_file_note notes[] = {
		{ .ino = 5, .dev_major = 8, .size = 10, .build_id = id, .n_build_id = 3,
		  .path = "/a" },
		{ .ino = 5, .dev_major = 8, .size = 20, .build_id = id, .path = "/b" },
		{ .ino = 6, .dev_major = 8, .generation = 1, .size = 30, .build_id = id,
		  .path = "/used-again" },
		{ .size = 40, .build_id = id, .path = "[vdso]" },
	};
	struct mt_lifecycle born = { .type = MT_LC_START, .pid = 1, .name = "", .path = "" };

	cr_assert_eq(mt_session_build(&born, 1, rows, MT_ARRAY_SIZE(rows), &session), 0);
	cr_assert_eq(mt_session_take_notes(session, notes, MT_ARRAY_SIZE(notes)), 0);
	cr_expect_eq(noted_size("/a"), 10);
	cr_expect_eq(mt_session_file(session, 0)->n_build_id, 3);
	cr_expect_arr_eq(mt_session_file(session, 0)->build_id, id, 3);
	cr_expect_eq(noted_size("/link-to-a"), 20);
	cr_expect_eq(noted_size("/other-device"), 0);
	cr_expect_eq(noted_size("/used-again"), 0);
	cr_expect_eq(noted_size("[vdso]"), 40);
	cr_expect_eq(noted_size("//anon"), 0);
}

/* Two processes, before and after; a forked child keeps what its parent mapped. */
Test(session_notes, a_rewritten_file_is_another_one)
{
	static const uint8_t ids[] = { 1, 2 };
	const struct mt_lifecycle lives[] = {
		{ .type = MT_LC_START, .pid = 1, .time = 1, .name = "", .path = "" },
		{ .type = MT_LC_START, .process = 1, .pid = 2, .time = 2, .name = "", .path = "" },
		{ .type = MT_LC_FORK, .process = 2, .parent = 0, .pid = 3, .time = 90, .name = "",
		  .path = "" },
	};
	const struct mt_mapping rows[] = {
		{ .time = 10, .type = MT_MAP_MAP, .process = 0, .start = 0x1000, .end = 0x2000,
		  .ino = 5, .path = "/a" },
		{ .time = 60, .type = MT_MAP_MAP, .process = 1, .start = 0x1000, .end = 0x2000,
		  .ino = 5, .path = "/a", .since = 50 },
	};
	const struct mt_file_note notes[] = {
		{ .ino = 5, .size = 10, .build_id = ids, .n_build_id = 1, .path = "/a" },
		{ .ino = 5, .size = 20, .build_id = ids + 1, .n_build_id = 1, .path = "/a",
		  .since = 50 },
	};
	const struct mt_file *file;

	cr_assert_eq(mt_session_build(lives, 3, rows, 2, &session), 0);
	cr_assert_eq(mt_session_take_notes(session, notes, 2), 0);
	cr_assert_eq(mt_session_files(session), 2);
	file = mt_session_file(session, mt_session_placement(session,
			       mt_session_find(session, 0, 70, 0x1000))->file);
	cr_expect_eq(file->build_id[0], 1);
	cr_expect_eq(file->size, 10);
	file = mt_session_file(session, mt_session_placement(session,
			       mt_session_find(session, 1, 70, 0x1000))->file);
	cr_expect_eq(file->build_id[0], 2);
	cr_expect_eq(file->size, 20);
	file = mt_session_file(session, mt_session_placement(session,
			       mt_session_find(session, 2, 95, 0x1000))->file);
	cr_expect_eq(file->build_id[0], 1);
}
