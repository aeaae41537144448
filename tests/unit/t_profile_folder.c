/* Profile folders of hand-made recordings, checked by tests/oracle/check_profile_folder.py. */
#include "report/profile_folder.h"

#include "report/session.h"
#include "report/symbolize.h"
#include "tests/unit/elf_fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mount.h>
#include <sys/utsname.h>

#define BASE 0x7f1234000000ull

static struct mt_lifecycle lives[8];
static size_t n_lives;
static struct mt_mapping maps[16];
static char map_paths[16][512];
static size_t n_maps;
static struct mt_session *session;
static struct mt_symbolizer *symbolizer;

static void start_process(uint32_t process, uint32_t pid, const char *name)
{
	lives[n_lives++] = (struct mt_lifecycle){
		.type = MT_LC_START, .process = process, .pid = pid, .name = name, .path = "",
	};
}

/* Map the executable segment of path as the kernel does, with this load bias. */
static void map_file(uint32_t process, uint64_t time, const char *path, uint64_t bias)
{
	const struct mt_module_segment *segments;
	struct mt_file file = file_at(path);
	struct mt_mapping *map = &maps[n_maps];
	struct mt_module *module;
	size_t k, count;

	snprintf(map_paths[n_maps], sizeof(map_paths[0]), "%s", path);
	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	count = mt_module_segments(module, &segments);
	for (k = 0; k < count && !(segments[k].flags & 1); k++)
		;
	cr_assert_lt(k, count);
	*map = (struct mt_mapping){
		.time = time, .type = MT_MAP_MAP, .process = process,
		.start = bias + (segments[k].vaddr & ~0xfffull),
		.end = bias + ((segments[k].vaddr + segments[k].filesz + 0xfff) & ~0xfffull),
		.offset = segments[k].offset & ~0xfffull,
		.dev_major = file.dev_major, .dev_minor = file.dev_minor, .ino = file.ino,
		.path = map_paths[n_maps],
	};
	n_maps++;
	mt_module_free(module);
}

static void load(const char *kernel)
{
	struct mt_module_options options = { .kernel = kernel };

	cr_assert_eq(mt_session_build(lives, n_lives, maps, n_maps, &session), 0);
	cr_assert_eq(mt_symbolizer_new(session, &options, &symbolizer), 0);
}

static void unload(void)
{
	mt_symbolizer_free(symbolizer);
	mt_session_free(session);
	symbolizer = NULL;
	session = NULL;
}

static int write_folder(const char *name)
{
	return mt_profile_folder_write(in_dir(name), session, symbolizer, NULL, NULL);
}

/* A value out of the metadata of folder "p", by an expression over m. */
#define METADATA(expression) \
	output_of("python3 -c 'import json; m=json.load(open(\"'$D'/p/memtrack.metadata\")); " \
		  "print(%s)'", expression)

static void check(const char *folder)
{
	run("tests/oracle/check_profile_folder.py $D/%s > $D/checked", folder);
}

static void begin(void)
{
	elf_fixture_begin();
	n_lives = n_maps = 0;
}

static void one_library(void)
{
	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/liba.so");
	start_process(0, 100, "prog");
	map_file(0, 7, in_dir("liba.so"), BASE);
	load(NULL);
}

TestSuite(profile_folder, .init = begin, .fini = elf_fixture_end, .timeout = 120);

Test(profile_folder, several_processes_modules_and_placements)
{
	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/liba.so;"
	    "g++ -gdwarf-4 -O2 -fPIC -shared $S/inlines.cc -o $D/libb.so;"
	    "strip -o $D/libc.so $D/libb.so;"
	    "cc -g -O2 -no-pie -Wl,-Ttext-segment=0x50000000 $S/calls.c -o $D/exe;"
	    "cc -shared -nostdlib $S/overlap.S -o $D/liboverlap.so");
	start_process(0, 2000, "prog");
	start_process(1, 300, "other \"name\"");
	map_file(0, 5, in_dir("exe"), 0);
	map_file(0, 10, in_dir("liba.so"), BASE);
	map_file(0, 20, in_dir("libb.so"), BASE * 2);
	map_file(0, 30, in_dir("libc.so"), BASE * 3);
	/* Unloaded and loaded again elsewhere. */
	map_file(0, 40, in_dir("liba.so"), BASE * 4);
	map_file(1, 15, in_dir("liba.so"), BASE * 5);
	map_file(1, 16, in_dir("liboverlap.so"), BASE * 6);
	load(NULL);
	cr_assert_eq(write_folder("p"), 0);
	check("p");
	cr_expect_str_eq(METADATA("list(m[\"mapped_process_unwind_data_by_pid\"])"),
			 "['300', '2000']");
	cr_expect_str_eq(METADATA("[e[\"load_bias\"] for e in "
				  "m[\"mapped_process_module_symbols\"][\"2000\"] "
				  "if \"liba\" in e[\"perf_map_key\"]] == "
				  "[0x7f1234000000, 0x7f1234000000 * 4]"), "True");
	cr_expect_str_eq(METADATA("[e[\"timestamp\"] for e in "
				  "m[\"mapped_process_debug_info_by_pid\"][\"300\"]]"), "[15]");
	cr_expect_str_eq(METADATA("m[\"process_names\"]"),
			 "{'300': 'other \"name\"', '2000': 'prog'}");
	cr_expect_str_eq(METADATA("m[\"integration\"]"), "['mt-report', '0.1.0']");
	cr_expect_str_eq(METADATA("sorted(m[\"path_key_to_path\"])"),
			 "['0__exe', '1__liba.so', '2__liboverlap.so', '3__libb.so', "
			 "'4__libc.so']");
	unload();
}

/* As a real program has it: everything that dash maps, with the vDSO. */
Test(profile_folder, system_libraries)
{
	struct utsname uts;

	cr_assert_eq(uname(&uts), 0);
	start_process(0, 1, "sh");
	map_file(0, 1, output_of("readlink -f /bin/sh"), 0x555555000000);
	map_file(0, 2, output_of("readlink -f $(ldd /bin/sh | sed -n "
				 "'s/.*libc.so.6 => \\([^ ]*\\).*/\\1/p')"), BASE);
	map_file(0, 3, output_of("readlink -f $(c++ -print-file-name=libstdc++.so.6)"), BASE * 2);
	maps[n_maps++] = (struct mt_mapping){
		.time = 4, .type = MT_MAP_MAP, .start = BASE * 3, .end = BASE * 3 + 0x1000,
		.path = "[vdso]",
	};
	load(uts.release);
	cr_assert_eq(write_folder("p"), 0);
	check("p");
	cr_expect_str_eq(METADATA("\"[vdso]\" in m[\"path_key_to_path\"].values()"), "True");
	unload();
}

Test(profile_folder, same_input_same_bytes)
{
	one_library();
	cr_assert_eq(write_folder("p"), 0);
	cr_assert_eq(write_folder("q"), 0);
	run("diff -r $D/p $D/q; test $(ls $D/p | wc -l) = 3");
	unload();
	load(NULL);
	cr_assert_eq(write_folder("r"), 0);
	run("diff -r $D/p $D/r");
	unload();
}

Test(profile_folder, timestamp_null_is_the_whole_run)
{
	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/liba.so");
	start_process(0, 100, "prog");
	map_file(0, 0, in_dir("liba.so"), BASE);
	load(NULL);
	cr_assert_eq(write_folder("p"), 0);
	check("p");
	cr_expect_str_eq(METADATA("m[\"mapped_process_unwind_data_by_pid\"][\"100\"][0]"
				  "[\"timestamp\"]"), "None");
	unload();
}

Test(profile_folder, refused_modules_are_left_out)
{
	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/liba.so");
	start_process(0, 100, "prog");
	map_file(0, 7, in_dir("liba.so"), BASE);
	run("cp $D/liba.so $D/new; mv $D/new $D/liba.so");
	load(NULL);
	cr_assert_eq(mt_profile_folder_write(in_dir("p"), session, symbolizer, "harness", "2.1"),
		     0);
	check("p");
	cr_expect_str_eq(METADATA("m"), "{'version': 1, 'integration': ['harness', '2.1'], "
			 "'process_names': {'100': 'prog'}}");
	unload();
}

Test(profile_folder, nothing_recorded)
{
	load(NULL);
	cr_assert_eq(write_folder("p"), 0);
	check("p");
	cr_expect_str_eq(output_of("cat $D/p/memtrack.metadata"),
			 "{\"version\":1,\"integration\":[\"mt-report\",\"0.1.0\"]}");
	unload();
}

Test(profile_folder, odd_file_names)
{
	char name[512];

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/liba.so;"
	    "cp $D/liba.so \"$D/$(printf 'a\\nb \"\\377.so')\";"
	    "cp $D/liba.so $D/$(printf 'x%%.0s' $(seq 250))");
	start_process(0, 100, "prog");
	snprintf(name, sizeof(name), "%s", in_dir("a\nb \"\377.so"));
	map_file(0, 7, name, BASE);
	snprintf(name, sizeof(name), "%s/%0250d", fixture_dir, 0);
	memset(strrchr(name, '/') + 1, 'x', 250);
	map_file(0, 8, name, BASE * 2);
	load(NULL);
	cr_assert_eq(write_folder("p"), 0);
	check("p");
	cr_expect_str_eq(METADATA("list(m[\"path_key_to_path\"])[0] == \"0__a_b \\\"_.so\""),
			 "True");
	unload();
}

Test(profile_folder, existing_folders)
{
	one_library();
	/* Empty: replaced. */
	run("mkdir $D/p");
	cr_expect_eq(write_folder("p"), 0);
	check("p");
	/* A profile: replaced, other files kept. */
	run("touch $D/p/9__old.so.symbols.map $D/p/9__old.so.unwind_data $D/p/notes $D/p/9__notes;"
	    "echo old > $D/p/memtrack.metadata");
	cr_expect_eq(write_folder("p/"), 0);
	run("rm $D/p/notes $D/p/9__notes");
	check("p");
	/* Anything else: refused and untouched. */
	run("mkdir $D/q; touch $D/q/precious; touch $D/file");
	cr_expect_eq(write_folder("q"), -ENOTEMPTY);
	cr_expect_eq(write_folder("file"), -ENOTDIR);
	cr_expect_eq(write_folder("none/p"), -ENOENT);
	cr_expect_eq(write_folder("file/p"), -ENOTDIR);
	run("test \"$(ls $D/q)\" = precious; test -f $D/file; test ! -e $D/none");
	/* A link is followed. */
	run("ln -s p $D/link; touch $D/p/9__old.so.unwind_data");
	cr_expect_eq(write_folder("link"), 0);
	run("test -L $D/link; test ! -e $D/p/9__old.so.unwind_data");
	check("p");
	/* Nothing temporary is left. */
	cr_expect_str_eq(output_of("ls -A $D | tr '\\n' ' '"), "checked file liba.so link p q ");
	unload();
}

Test(profile_folder, relative_names)
{
	char *cwd = getcwd(NULL, 0);

	one_library();
	cr_assert_eq(chdir(fixture_dir), 0);
	cr_expect_eq(mt_profile_folder_write("p", session, symbolizer, NULL, NULL), 0);
	cr_expect_eq(mkdir("here", 0755), 0);
	cr_expect_eq(chdir("here"), 0);
	cr_expect_eq(mt_profile_folder_write(".", session, symbolizer, NULL, NULL), 0);
	cr_expect_eq(mt_profile_folder_write("", session, symbolizer, NULL, NULL), -ENOENT);
	cr_assert_eq(chdir(cwd), 0);
	check("p");
	check("here");
	free(cwd);
	unload();
}

/* A mount of our own that is too small; needs the right to make one. */
Test(profile_folder, full_disk)
{
	one_library();
	run("mkdir $D/small");
	if (mount("none", in_dir("small"), "tmpfs", 0, "size=8k") < 0) {
		cr_log_warn("no right to mount a small file system");
	} else {
		cr_expect_eq(write_folder("small/p"), -ENOSPC);
		cr_expect_str_eq(output_of("ls -A $D/small"), "");
		cr_assert_eq(umount(in_dir("small")), 0);
	}
	unload();
}
