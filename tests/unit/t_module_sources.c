/* The file of a module in another place than it had, or written to in its own. */
#include "report/module.h"

#include "tests/unit/module_fixture.h"

TestSuite(module_sources, .init = elf_fixture_begin, .fini = elf_fixture_end);

/* file, with the build-id that it has as it stands. */
static struct mt_file noted_at(const char *path)
{
	static char paths[2][128];	/* in_dir()'s buffers take turns */
	static unsigned int turn;
	char *kept = paths[turn++ % 2];
	struct mt_module *module;
	struct mt_file file;
	struct stat st;

	snprintf(kept, sizeof(paths[0]), "%s", path);
	module = open_verified(kept);
	file = file_at(kept);
	cr_assert_eq(stat(kept, &st), 0);
	file.noted = true;
	file.size = (uint64_t)st.st_size;
	file.mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	file.n_build_id = (uint32_t)mt_module_build_id(module, file.build_id);
	mt_module_free(module);
	return file;
}

static void expect_below(const struct mt_file *file, const char *sysroot,
			 enum mt_module_status status, const char *reason)
{
	struct mt_module_options options = { .sysroot = in_dir(sysroot) };
	struct mt_module *module;

	cr_assert_eq(mt_module_open(file, &options, &module), 0);
	cr_expect_eq(mt_module_status(module), status, "%s: %s", sysroot,
		     mt_module_reason(module));
	cr_expect_not_null(strstr(mt_module_reason(module), reason), "%s: %s", sysroot,
			   mt_module_reason(module));
	mt_module_free(module);
}

#define LINKED "cc -shared -fPIC -Wl,--build-id=0x%s -o $D/%s $S/calls.c; "

Test(module_sources, below_a_sysroot_the_build_id_decides)
{
	struct mt_file file, none;

	run(LINKED LINKED "cc -shared -fPIC -Wl,--build-id=none -o $D/none.so $S/calls.c",
	    "01020305",
	    "a.so", "01020306", "b.so");
	file = noted_at(in_dir("a.so"));
	cr_assert_eq(file.n_build_id, 4);
	none = noted_at(in_dir("none.so"));
	run("for r in same other plain link folder; do mkdir -p $D/$r$D; done; mkdir $D/empty;"
	    "cp $D/a.so $D/same$D/a.so; cp $D/b.so $D/other$D/a.so;"
	    "cp $D/none.so $D/plain$D/a.so; cp $D/none.so $D/plain$D/none.so;"
	    /* Followed as the root of that tree has it: to a file that is only there. */
	    "cp $D/a.so $D/link/real.so; ln -s /real.so $D/link$D/a.so;"
	    "mkdir $D/folder$D/a.so");
	expect_below(&file, "same", MT_MODULE_VERIFIED, "");
	expect_below(&file, "same/", MT_MODULE_VERIFIED, "");
	expect_below(&file, "link", MT_MODULE_VERIFIED, "");
	expect_below(&file, "other", MT_MODULE_CHANGED,
		     "build-id 01020306 here; build-id 01020305 would fit");
	expect_below(&file, "plain", MT_MODULE_CHANGED,
		     "no build-id here; build-id 01020305 would fit");
	expect_below(&file, "folder", MT_MODULE_CHANGED, "not a file there");
	expect_below(&file, "empty", MT_MODULE_GONE, "no such file");
	expect_below(&file, "no-such-folder", MT_MODULE_GONE, "no such file");
	expect_below(&none, "plain", MT_MODULE_UNREADABLE, "no build-id was recorded");
}

Test(module_sources, a_link_out_of_the_sysroot_leads_nowhere)
{
	struct mt_file file;

	run(LINKED "mkdir -p $D/up$D $D/root; cp $D/a.so $D/secret.so;"
	    "ln -s ../../../../../../../../../..$D/secret.so $D/up$D/a.so", "01020304", "a.so");
	file = noted_at(in_dir("a.so"));
	expect_below(&file, "up", MT_MODULE_GONE, "no such file");
}

Test(module_sources, written_to_in_place)
{
	struct mt_file file, none;
	struct mt_module *module;

	run(LINKED LINKED "cc -shared -fPIC -Wl,--build-id=none -o $D/none.so $S/calls.c",
	    "01020304",
	    "a.so", "01020306", "b.so");
	file = noted_at(in_dir("a.so"));
	none = noted_at(in_dir("none.so"));
	run("touch -d 2001-01-01 $D/a.so $D/none.so");
	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_expect_eq(mt_module_status(module), MT_MODULE_VERIFIED);
	mt_module_free(module);
	expect_refused(&none, MT_MODULE_CHANGED, "written to since it was recorded");
	/* The inode stays, the contents do not. */
	run("cat $D/b.so >$D/a.so");
	expect_refused(&file, MT_MODULE_CHANGED,
		       "build-id 01020306 here; build-id 01020304 would fit");
}
