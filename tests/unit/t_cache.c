/* Entries of the cache: what is put is found again, and nothing else is believed. */
#include "report/cache.h"

#include "common/error.h"
#include "report/cache_folder.h"
#include "report/cfi_cache.h"
#include "report/known_names.h"
#include "report/module.h"
#include "report/module_sources.h"
#include "tests/unit/elf_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>

static struct mt_module *module;
static struct mt_cache *cache;
static struct mt_buf bytes;
static struct mt_cache_stats stats;

static void begin(void)
{
	struct mt_file file;

	elf_fixture_begin();
	run("mkdir -m 700 $D/cache; printf 'int twice(int x) { return 2 * x; }\\n"
	    "int main(void) { return twice(0); }\\n' >$D/a.c;"
	    "gcc -g -O1 -Wl,--build-id -o $D/a $D/a.c; sleep 0.1");
	file = file_at(in_dir("a"));
	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_assert_eq(mt_module_status(module), MT_MODULE_VERIFIED);
	cr_assert_eq(mt_cache_open(in_dir("cache"), &cache), 0);
	mt_buf_init(&bytes);
}

static void end(void)
{
	mt_buf_release(&bytes);
	mt_cache_free(cache);
	mt_module_free(module);
	elf_fixture_end();
}

static bool get(void)
{
	bool found = mt_cache_get(cache, MT_CACHE_CFI, module, &bytes);

	mt_cache_stats(cache, &stats);
	return found;
}

static void put(const char *text)
{
	mt_cache_put(cache, MT_CACHE_CFI, module, text, strlen(text));
}

static bool has(const char *text)
{
	return get() && bytes.len == strlen(text) && !memcmp(bytes.data, text, bytes.len);
}

Test(cache, what_is_put_is_found, .init = begin, .fini = end)
{
	cr_expect_not(get());
	put("one");
	cr_expect(has("one"));
	put("another");
	cr_expect(has("another"));
	put("");
	cr_expect(has(""));
	cr_expect_not(mt_cache_get(cache, MT_CACHE_NAMES, module, &bytes));
	mt_cache_stats(cache, &stats);
	cr_expect_eq(stats.bad, 0);
	cr_expect_eq(stats.stale, 0);
	cr_expect_eq(stats.written, 3);
	run("test -z \"$(find $D/cache -type f ! -perm 600)\"");
}

Test(cache, others_may_not_write, .init = begin, .fini = end)
{
	put("one");
	run("chmod 0620 $D/cache/*");
	cr_expect_not(get());
	run("chmod 0602 $D/cache/*");
	cr_expect_not(get());
	cr_expect_eq(stats.bad, 2);
	run("chmod 0644 $D/cache/*");
	cr_expect(has("one"));
	/* A link is not followed, a pipe not waited for. */
	run("cd $D/cache; f=$(ls); mv $f ../real; ln -s ../real $f");
	cr_expect_not(get());
	run("cd $D/cache; f=$(ls); rm $f; mkfifo $f");
	cr_expect_not(get());
	cr_expect_eq(stats.bad, 4);
	/* What is bad is written anew. */
	put("two");
	cr_expect(has("two"));
}

Test(cache, other_owners_are_not_believed, .init = begin, .fini = end)
{
	struct mt_cache *other;

	put("one");
	if (geteuid())
		cr_skip_test("only root can give files away");
	run("chown 1 $D/cache/*");
	cr_expect_not(get());
	cr_expect_eq(stats.bad, 1);
	run("chown 1 $D/cache");
	cr_expect_eq(mt_cache_open(in_dir("cache"), &other), -EPERM);
	/* sudo: HOME is the user's. */
	run("mkdir $D/home $D/home/.cache; chown 1 $D/home $D/home/.cache");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", in_dir("home"), 1);
	cr_expect_eq(mt_cache_open(NULL, &other), -ENOENT);
	run("chown 0 $D/home");
	cr_expect_eq(mt_cache_open(NULL, &other), -EPERM);
	run("rmdir $D/home/.cache; test -z \"$(ls -A $D/home)\"");
	cr_assert_eq(mt_cache_open(NULL, &other), 0);
	mt_cache_free(other);
	run("test \"$(stat -c %%a $D/home/.cache/memtrack)\" = 700");
}

Test(cache, no_place_no_cache, .init = begin, .fini = end)
{
	struct mt_cache *other;

	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	cr_expect_eq(mt_cache_open(NULL, &other), -ENOENT);
	setenv("HOME", "not/absolute", 1);
	cr_expect_eq(mt_cache_open(NULL, &other), -ENOENT);
	setenv("HOME", in_dir("missing"), 1);
	cr_expect_eq(mt_cache_open(NULL, &other), -ENOENT);
	run("chmod 0770 $D/cache");
	cr_expect_eq(mt_cache_open(in_dir("cache"), &other), -EPERM);
	run("chmod 0700 $D/cache");
	cr_expect_eq(mt_cache_open(in_dir("a"), &other), -ENOTDIR);
}

Test(cache, every_changed_bit_and_every_cut_is_noticed, .init = begin, .fini = end)
{
	static const char text[] = "contents that are to be found again, every bit of them";
	struct mt_module_sources sources;
	static uint8_t file[4096];
	struct mt_buf out;
	size_t size, i;
	FILE *in;

	put(text);
	cr_assert(mt_module_sources(module, &sources));
	run("cp $D/cache/* $D/entry");
	in = fopen(in_dir("entry"), "rb");
	size = fread(file, 1, sizeof(file), in);
	fclose(in);
	cr_assert(size > 0 && size < sizeof(file));
	mt_buf_init(&out);
	cr_assert_eq(mt_cache_unpack(file, size, MT_CACHE_CFI, &sources, sizeof(sources), &out), 0);
	for (i = 0; i < size; i++)
		cr_expect_neq(mt_cache_unpack(file, i, MT_CACHE_CFI, &sources, sizeof(sources),
					      &out), 0);
	for (i = 0; i < size * 8; i++) {
		file[i / 8] ^= (uint8_t)(1 << i % 8);
		/* Some of a frame's bits say nothing. */
		cr_expect(mt_cache_unpack(file, size, MT_CACHE_CFI, &sources, sizeof(sources),
					  &out) ||
			  (out.len == strlen(text) && !memcmp(out.data, text, out.len)),
			  "bit %zu", i);
		file[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cr_expect_eq(mt_cache_unpack(file, size, MT_CACHE_NAMES, &sources, sizeof(sources), &out),
		     -MT_E_NO_DATA);
	sources.own.ctime++;
	cr_expect_eq(mt_cache_unpack(file, size, MT_CACHE_CFI, &sources, sizeof(sources), &out),
		     -MT_E_NO_DATA);
	mt_buf_release(&out);
}

/* Another file of the same build-id and size: a build-id can lie. */
Test(cache, the_same_build_id_in_another_file_finds_nothing, .init = begin, .fini = end)
{
	struct mt_file file;

	put("one");
	run("cp $D/a $D/b; sleep 0.1");
	mt_module_free(module);
	file = file_at(in_dir("b"));
	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_expect_not(get());
	cr_expect_eq(stats.stale, 1);
}

Test(cache, a_debug_file_that_comes_or_goes_counts, .init = begin, .fini = end)
{
	struct mt_file file;

	put("one");
	mt_module_free(module);
	run("id=$(readelf -n $D/a | sed -n 's/.*Build ID: //p');"
	    "d=$D/debug/.build-id/${id%%%%${id#??}};"
	    "mkdir -p $d; objcopy --only-keep-debug $D/a $d/${id#??}.debug; sleep 0.1");
	file = file_at(in_dir("a"));
	cr_assert_eq(mt_module_open(&file, &(struct mt_module_options){
		.debug_dir = in_dir("debug") }, &module), 0);
	cr_assert(*mt_module_debug_path(module));
	cr_expect_not(get());
	cr_expect_eq(stats.stale, 1);
}

static void *write_often(void *text)
{
	int i;

	for (i = 0; i < 200; i++)
		put(text);
	return NULL;
}

/* A reader sees all that one of them wrote, never half of it or some of each. */
Test(cache, writers_at_once, .init = begin, .fini = end)
{
	static char texts[2][4096];
	pthread_t threads[2];
	size_t i, same;

	for (i = 0; i < 2; i++)
		memset(texts[i], 'a' + (int)i, sizeof(texts[i]) - 1);
	put(texts[0]);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, write_often, texts[i]);
	for (i = 0; i < 400; i++) {
		cr_assert(get());
		cr_assert_eq(bytes.len, sizeof(texts[0]) - 1);
		for (same = 1; same < bytes.len && bytes.data[same] == bytes.data[0];)
			same++;
		cr_assert_eq(same, bytes.len);
	}
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	get();
	cr_expect_eq(stats.bad, 0);
	cr_expect_eq(stats.failed, 0);
	run("test \"$(ls -A $D/cache | wc -l)\" = 1");
}

Test(cache, the_oldest_go_first, .init = begin, .fini = end)
{
	int fd = open(in_dir("cache"), O_RDONLY | O_DIRECTORY);

	run("cd $D/cache; for i in 1 2 3 4; do head -c 1000 /dev/zero >$i.cfi; "
	    "touch -d @$((1000 + i)) $i.cfi; done; head -c 9000 /dev/zero >other;"
	    "touch .x.cfi.AAAAAA; touch -d @5 .y.names.BBBBBB");
	mt_cache_folder_trim(fd, 2500);
	run("cd $D/cache; test \"$(ls -A | sort | xargs)\" = '.x.cfi.AAAAAA 3.cfi 4.cfi other'");
	close(fd);
}

static void look(const struct mt_cfi *cfi)
{
	const struct mt_cfi_rules *rules;
	uint64_t svma;
	unsigned int k;
	size_t i;

	for (i = 0; i < mt_cfi_rows(cfi); i++) {
		rules = mt_cfi_row(cfi, i, &svma);
		cr_assert_eq(mt_cfi_find(cfi, svma), rules);
		for (k = 0; rules && k < rules->n_rules; k++)
			cr_assert_lt(rules->list[k].reg, MT_REGS_MAX);
	}
}

Test(cache, tables_are_the_same_from_the_cache, .init = begin, .fini = end)
{
	struct mt_cfi *cold, *warm;
	struct mt_buf a, b;

	cr_assert_eq(mt_cfi_load(module, cache, &cold), 0);
	cr_assert_eq(mt_cfi_load(module, cache, &warm), 0);
	mt_cache_stats(cache, &stats);
	cr_expect_eq(stats.used, 1);
	cr_expect_eq(stats.written, 1);
	mt_buf_init(&a);
	mt_buf_init(&b);
	cr_assert_eq(mt_cfi_write(cold, &a), 0);
	cr_assert_eq(mt_cfi_write(warm, &b), 0);
	cr_expect_eq(a.len, b.len);
	cr_expect_eq(memcmp(a.data, b.data, a.len), 0);
	cr_expect_gt(mt_cfi_rows(warm), 3);
	look(warm);
	/* Contents that are sealed well and wrong: ignored, and written anew. */
	mt_cache_put(cache, MT_CACHE_CFI, module, a.data, a.len - 1);
	mt_cfi_free(warm);
	cr_assert_eq(mt_cfi_load(module, cache, &warm), 0);
	mt_cache_stats(cache, &stats);
	cr_expect_eq(stats.bad, 1);
	cr_expect_eq(stats.written, 3);
	mt_cfi_free(warm);
	mt_cfi_free(cold);
	mt_buf_release(&a);
	mt_buf_release(&b);
}

Test(cache, no_table_of_wrong_contents_does_harm, .init = begin, .fini = end)
{
	size_t i, cut, refused = 0;
	struct mt_cfi *cfi;
	uint8_t *exact;

	cr_assert_eq(mt_cfi_compile(module, &cfi), 0);
	cr_assert_eq(mt_cfi_write(cfi, &bytes), 0);
	mt_cfi_free(cfi);
	for (cut = 0; cut < bytes.len; cut++) {
		exact = malloc(cut + 1);
		memcpy(exact, bytes.data, cut);
		cr_expect_neq(mt_cfi_read(exact, cut, &cfi), 0);
		free(exact);
	}
	for (i = 0; i < bytes.len * 8; i++) {
		bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
		if (!mt_cfi_read(bytes.data, bytes.len, &cfi)) {
			look(cfi);
			mt_cfi_free(cfi);
		} else {
			refused++;
		}
		bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	cr_expect_gt(refused, bytes.len);
}

Test(cache, names)
{
	struct mt_location locations[] = {
		{ .function = "inner", .linkage = "_Z5innerv", .file = "/a.c", .line = 7,
		  .inlined = true },
		{ .function = "outer", .linkage = "outer", .file = "/a.c", .line = 9 },
		{ .function = NULL },
	};
	struct mt_known_address addresses[] = {
		{ 0x10, locations, 2 }, { 0x20, locations + 2, 1 },
	};
	struct mt_known_names names = { .lines = true, .n = 2, .addresses = addresses }, back;
	const struct mt_known_address *found;
	size_t i;

	mt_buf_init(&bytes);
	cr_assert_eq(mt_known_names_write(&names, &bytes), 0);
	cr_assert_eq(mt_known_names_read(bytes.data, bytes.len, &back), 0);
	cr_expect(back.lines && !back.symbols);
	found = mt_known_names_find(&back, 0x10);
	cr_assert_not_null(found);
	cr_assert_eq(found->n, 2);
	cr_expect_str_eq(found->locations[0].linkage, "_Z5innerv");
	cr_expect_str_eq(found->locations[1].file, "/a.c");
	cr_expect_eq(found->locations[1].line, 9);
	cr_expect(found->locations[0].inlined && !found->locations[1].inlined);
	found = mt_known_names_find(&back, 0x20);
	cr_assert_not_null(found);
	cr_expect_null(found->locations[0].function);
	cr_expect_null(mt_known_names_find(&back, 0x11));
	cr_expect_null(mt_known_names_find(&back, 0x21));
	cr_expect_null(mt_known_names_find(&back, 0));
	mt_known_names_release(&back);
	for (i = 0; i < bytes.len; i++)
		cr_expect_neq(mt_known_names_read(bytes.data, i, &back), 0);
	for (i = 0; i < bytes.len * 8; i++) {
		bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
		if (!mt_known_names_read(bytes.data, bytes.len, &back))
			mt_known_names_release(&back);
		bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	/* Two of one address. */
	addresses[1].svma = 0x10;
	cr_assert_eq(mt_known_names_write(&names, &bytes), 0);
	cr_expect_eq(mt_known_names_read(bytes.data, bytes.len, &back), -MT_E_CORRUPT);
	mt_buf_release(&bytes);
}
