/* What a pack keeps of ELF files, and packs that were made to do harm. */
#include "report/pack.h"

#include "common/artifact.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/frame.h"
#include "report/dwarf_lines.h"
#include "report/elf_extents.h"
#include "report/module.h"
#include "report/profile_folder.h"
#include "report/reader.h"
#include "report/session.h"
#include "report/symbolize.h"
#include "report/symbols.h"
#include "tests/unit/artifact_fixture.h"
#include "tests/unit/elf_fixture.h"

#include <sys/mman.h>

static struct mt_reader *reader;
static struct mt_pack *pack;

static void begin(void)
{
	elf_fixture_begin();
}

static void end(void)
{
	mt_pack_free(pack);
	mt_reader_free(reader);
	elf_fixture_end();
}

TestSuite(pack, .init = begin, .fini = end);

/* An artifact of a header and these blocks. */
static void load(const struct mt_buf *blocks, int want)
{
	const struct mt_buf *contents[2] = { NULL, blocks };
	struct mt_packer *packer;
	const uint8_t *frame;
	struct mt_buf header;
	size_t size;
	int fd = open(in_dir("pack.mtp"), O_CREAT | O_TRUNC | O_WRONLY, 0600), i;

	mt_buf_init(&header);
	cr_assert_eq(mt_encode_header(&header, &fixture_header), 0);
	contents[0] = &header;
	cr_assert_eq(mt_packer_new(1, MT_FRAME_CONTENT_MAX, &packer), 0);
	for (i = 0; i < 2; i++) {
		cr_assert_eq(mt_packer_pack(packer, contents[i]->data, contents[i]->len, NULL, 0,
					    &frame, &size), 0);
		cr_assert_eq(write(fd, frame, size), (ssize_t)size);
	}
	close(fd);
	mt_packer_free(packer);
	mt_buf_release(&header);
	cr_assert_eq(mt_reader_open(in_dir("pack.mtp"), &reader), 0);
	cr_assert_eq(mt_pack_load(reader, &pack), want);
}

#define NO_TEXT .path = "", .status = "", .reason = "", .debug_path = "", .package = ""

static void add_image(struct mt_buf *blocks, uint32_t id, uint64_t size)
{
	struct mt_packed row = { .type = MT_PACKED_IMAGE, .id = id, .size = size, NO_TEXT };

	cr_assert_eq(mt_encode_packed(blocks, &row, 1), 0);
}

static void add_file(struct mt_buf *blocks, const struct mt_file *file, const char *status,
		     uint32_t own, uint32_t debug, uint32_t alt)
{
	struct mt_packed row = {
		.type = MT_PACKED_FILE, .dev_major = file->dev_major,
		.dev_minor = file->dev_minor, .ino = file->ino, .generation = file->generation,
		.path = file->path, .status = status, .reason = "as it was", .own = own,
		.debug = debug, .alt = alt, .debug_path = "/was/there", .package = "pkg",
	};

	cr_assert_eq(mt_encode_packed(blocks, &row, 1), 0);
}

static void add_part(struct mt_buf *blocks, uint32_t image, uint64_t offset, const void *bytes,
		     uint32_t n)
{
	struct mt_image_part part = { image, offset, bytes, n };

	cr_assert_eq(mt_encode_images(blocks, &part, 1), 0);
}

/* The parts that a pack keeps of a module's file. */
static void add_cut(struct mt_buf *blocks, uint32_t id, struct mt_module *module,
		    enum mt_module_image which)
{
	struct mt_extent *extents;
	const uint8_t *bytes;
	size_t size, n, i;

	cr_assert(mt_module_image(module, which, &bytes, &size));
	cr_assert_eq(mt_elf_extents(bytes, size, &extents, &n), 0);
	add_image(blocks, id, size);
	for (i = 0; i < n; i++) {
		cr_assert_leq(extents[i].offset, size);
		cr_assert_leq(extents[i].size, size - extents[i].offset);
		cr_assert(!i || extents[i].offset > extents[i - 1].offset + extents[i - 1].size);
		cr_assert_leq(extents[i].size, MT_IMAGE_PART_MAX);
		add_part(blocks, id, extents[i].offset, bytes + extents[i].offset,
			 (uint32_t)extents[i].size);
	}
	free(extents);
}

static void expect_same_text(const char *a, const char *b)
{
	cr_expect(a == b || (a && b && !strcmp(a, b)), "%s and %s", a, b);
}

/* Symbols, unwind tables and the lines of every function. */
static void expect_same(struct mt_module *a, struct mt_module *b)
{
	struct mt_line_frame x[MT_LINE_FRAMES_MAX], y[MT_LINE_FRAMES_MAX];
	const struct mt_symbol *s, *t;
	struct mt_section p, q;
	struct mt_symbols *sa, *sb;
	struct mt_lines *la = NULL, *lb = NULL;
	size_t i, k, n;

	mt_module_section(a, ".eh_frame", &p);
	mt_module_section(b, ".eh_frame", &q);
	cr_assert_gt(p.size, 0);
	cr_assert_eq(p.size, q.size);
	cr_expect_eq(p.svma, q.svma);
	cr_expect_arr_eq(p.data, q.data, p.size);
	cr_expect_eq(mt_module_base_svma(a), mt_module_base_svma(b));
	cr_assert_eq(mt_symbols_load(a, &sa), 0);
	cr_assert_eq(mt_symbols_load(b, &sb), 0);
	cr_assert_gt(mt_symbols_count(sa), 3);
	cr_assert_eq(mt_symbols_count(sa), mt_symbols_count(sb));
	cr_assert_eq(mt_lines_load(a, &la), 0);
	cr_assert_eq(mt_lines_load(b, &lb), 0);
	for (i = 0; i < mt_symbols_count(sa); i++) {
		s = mt_symbols_at(sa, i);
		t = mt_symbols_at(sb, i);
		cr_expect_eq(s->addr, t->addr);
		cr_expect_eq(s->size, t->size);
		cr_expect_str_eq(s->name, t->name);
		n = mt_lines_find(la, s->addr, x);
		cr_assert_eq(mt_lines_find(lb, s->addr, y), n);
		for (k = 0; k < n; k++) {
			expect_same_text(x[k].linkage, y[k].linkage);
			expect_same_text(x[k].name, y[k].name);
			expect_same_text(x[k].file, y[k].file);
			cr_expect_eq(x[k].line, y[k].line);
		}
	}
	mt_lines_free(la);
	mt_lines_free(lb);
	mt_symbols_free(sa);
	mt_symbols_free(sb);
}

/* Pack the file at path with what belongs to it, and read that again. */
static void pack_and_compare(const char *path, bool debug, bool alt)
{
	struct mt_module_options options = {};
	struct mt_file file = file_at(path);
	struct mt_module *here, *packed;
	struct mt_buf blocks;

	mt_buf_init(&blocks);
	cr_assert_eq(mt_module_open(&file, NULL, &here), 0);
	cr_assert_eq(mt_module_status(here), MT_MODULE_VERIFIED);
	add_cut(&blocks, 1, here, MT_IMAGE_OWN);
	if (debug || alt)
		add_cut(&blocks, 2, here, debug ? MT_IMAGE_DEBUG : MT_IMAGE_ALT);
	add_file(&blocks, &file, "verified", 1, debug ? 2 : 0, alt ? 2 : 0);
	load(&blocks, 0);
	mt_buf_release(&blocks);
	options.pack = pack;
	cr_assert_eq(mt_module_open(&file, &options, &packed), 0);
	cr_assert_eq(mt_module_status(packed), MT_MODULE_VERIFIED, "%s", mt_module_reason(packed));
	cr_expect_str_eq(mt_module_package(packed), "pkg");
	cr_expect_str_eq(mt_module_debug_path(packed), debug ? "/was/there" : "");
	expect_same(here, packed);
	mt_module_free(here);
	mt_module_free(packed);
}

Test(pack, a_file_with_debug_information)
{
	run("c++ -g -O2 -fPIC -shared $S/inlines.cc -o $D/a.so");
	pack_and_compare(in_dir("a.so"), false, false);
}

Test(pack, compressed_debug_information)
{
	run("c++ -g -gz=zlib -O2 -fPIC -shared $S/inlines.cc -o $D/a.so");
	pack_and_compare(in_dir("a.so"), false, false);
}

Test(pack, a_separate_debug_file)
{
	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; cd $D;"
	    "objcopy --only-keep-debug a.so a.so.debug; strip a.so;"
	    "objcopy --add-gnu-debuglink=a.so.debug a.so");
	pack_and_compare(in_dir("a.so"), true, false);
}

Test(pack, what_dwz_took_out)
{
	run("cp $S/dwz.so $S/dwz-common.debug $D");
	pack_and_compare(in_dir("dwz.so"), false, true);
}

Test(pack, an_image_shared_by_two_files_is_not_changed_by_the_first)
{
	struct mt_module_options options = {};
	struct mt_module *here, *first, *second;
	struct mt_file file, other;
	struct mt_buf blocks;

	run("c++ -g -gz=zlib -O2 -fPIC -shared $S/inlines.cc -o $D/a.so");
	file = file_at(in_dir("a.so"));
	other = file;
	other.path = "/another/name";
	mt_buf_init(&blocks);
	cr_assert_eq(mt_module_open(&file, NULL, &here), 0);
	add_cut(&blocks, 1, here, MT_IMAGE_OWN);
	add_file(&blocks, &file, "verified", 1, 0, 0);
	add_file(&blocks, &other, "verified", 1, 0, 0);
	load(&blocks, 0);
	mt_buf_release(&blocks);
	options.pack = pack;
	cr_assert_eq(mt_module_open(&file, &options, &first), 0);
	cr_assert_not_null(mt_module_dwarf(first));
	cr_assert_eq(mt_module_open(&other, &options, &second), 0);
	expect_same(here, second);
	mt_module_free(here);
	mt_module_free(first);
	mt_module_free(second);
}

Test(pack, code_is_left_out)
{
	struct mt_section section;
	struct mt_extent *extents;
	struct mt_module *module;
	const uint8_t *bytes;
	size_t size, n, i, kept = 0;

	struct mt_file file;

	run("cc -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	file = file_at(in_dir("a.so"));
	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	cr_assert(mt_module_image(module, MT_IMAGE_OWN, &bytes, &size));
	mt_module_section(module, ".text", &section);
	cr_assert_eq(mt_elf_extents(bytes, size, &extents, &n), 0);
	for (i = 0; i < n; i++) {
		kept += extents[i].size;
		cr_expect(bytes + extents[i].offset >= section.data + section.size ||
			  bytes + extents[i].offset + extents[i].size <= section.data);
	}
	cr_expect_lt(kept, size / 2);
	free(extents);
	/* A file that is none of ours is kept whole. */
	cr_assert_eq(mt_elf_extents(bytes + 1, size - 1, &extents, &n), 0);
	cr_assert_eq(n, 1);
	cr_expect_eq(extents[0].offset, 0);
	cr_expect_eq(extents[0].size, size - 1);
	free(extents);
	mt_module_free(module);
}

Test(pack, a_refusal_is_repeated)
{
	struct mt_module_options options = {};
	struct mt_file file = { .path = "/lib/x.so", .ino = 5, .dev_major = 8 }, other = file;
	struct mt_module *module;
	struct mt_buf blocks;

	other.ino = 6;
	mt_buf_init(&blocks);
	add_file(&blocks, &file, "changed", 0, 0, 0);
	add_file(&blocks, &other, "made up", 0, 0, 0);
	load(&blocks, 0);
	mt_buf_release(&blocks);
	options.pack = pack;
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_expect_eq(mt_module_status(module), MT_MODULE_CHANGED);
	cr_expect_str_eq(mt_module_reason(module), "as it was");
	mt_module_free(module);
	cr_assert_eq(mt_module_open(&other, &options, &module), 0);
	cr_expect_eq(mt_module_status(module), MT_MODULE_UNREADABLE);
	mt_module_free(module);
}

Test(pack, nothing_packed_is_no_pack)
{
	struct mt_buf blocks;

	mt_buf_init(&blocks);
	cr_assert_eq(mt_encode_files(&blocks, fixture_files, 1), 0);
	load(&blocks, 0);
	mt_buf_release(&blocks);
	cr_expect_null(pack);
	cr_expect_null(mt_pack_find(NULL, &(struct mt_file){ .path = "" }));
}

Test(pack, hostile)
{
	static const uint8_t bytes[] = "\177ELF but nothing more";
	struct mt_file file = { .path = "../../../etc/passwd", .ino = 5 }, other = file;
	struct mt_module_options options = {};
	struct mt_module *module;
	struct mt_buf blocks;
	uint8_t *image;
	size_t size;

	mt_buf_init(&blocks);
	add_part(&blocks, 1, 0, bytes, sizeof(bytes));		/* before its image */
	add_image(&blocks, 1, sizeof(bytes));
	add_image(&blocks, 3, 5);				/* out of turn */
	add_image(&blocks, 2, MT_IMAGE_MAX + 1);
	add_image(&blocks, 2, MT_IMAGE_MAX);
	add_part(&blocks, 1, 0, bytes, sizeof(bytes));
	add_part(&blocks, 1, 1, bytes, sizeof(bytes));		/* over its end */
	add_part(&blocks, 1, UINT64_MAX, bytes, sizeof(bytes));
	add_part(&blocks, 0, 0, bytes, sizeof(bytes));
	add_part(&blocks, 3, 0, bytes, sizeof(bytes));
	add_part(&blocks, 2, MT_IMAGE_MAX - 5, bytes, 5);
	add_image(&blocks, 3, 100);				/* behind all parts */
	add_image(&blocks, 4, 0);
	add_file(&blocks, &file, "verified", 1, 2, 3);
	other.ino = 6;
	add_file(&blocks, &other, "verified", UINT32_MAX, 0, 0);
	load(&blocks, 0);
	mt_buf_release(&blocks);

	image = mt_pack_map_image(pack, 1, &size);
	cr_assert_not_null(image);
	cr_assert_eq(size, sizeof(bytes));
	cr_expect_arr_eq(image, bytes, sizeof(bytes));
	munmap(image, size);
	image = mt_pack_map_image(pack, 2, &size);
	cr_assert_not_null(image);
	cr_expect_eq(image[0], 0);
	cr_expect_eq(image[MT_IMAGE_MAX - 5], bytes[0]);
	munmap(image, size);
	image = mt_pack_map_image(pack, 3, &size);
	cr_assert_not_null(image);
	cr_expect_eq(image[99], 0);
	munmap(image, size);
	cr_expect_null(mt_pack_map_image(pack, 4, &size));
	cr_expect_null(mt_pack_map_image(pack, 5, &size));
	cr_expect_null(mt_pack_map_image(pack, 0, &size));

	options.pack = pack;
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_expect_eq(mt_module_status(module), MT_MODULE_NOT_ELF);
	cr_expect_str_eq(mt_module_debug_path(module), "");
	mt_module_free(module);
	cr_assert_eq(mt_module_open(&other, &options, &module), 0);
	cr_expect_neq(mt_module_status(module), MT_MODULE_VERIFIED);
	mt_module_free(module);
}

/* What a pack calls its files are names: whatever they say, the folder keeps them in. */
Test(pack, names_do_not_lead_out_of_the_profile_folder)
{
	static const char *const names[] = {
		"/../../escaped", "/..", "/a/..", "/.", "/a/", "/", "/a/../../escaped",
		"/x/../../../../../../../../../../../../tmp/escaped",
	};
	struct mt_lifecycle life = { .type = MT_LC_START, .pid = 1, .name = "x", .path = "" };
	struct mt_mapping maps[MT_ARRAY_SIZE(names)];
	struct mt_symbolizer *symbolizer;
	struct mt_module_options options = { 0 };
	const struct mt_module_segment *segments;
	struct mt_session *session;
	struct mt_module *here;
	struct mt_file file;
	struct mt_buf blocks;
	size_t i, k, n;

	run("mkdir -p $D/deep/er; cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	file = file_at(in_dir("a.so"));
	mt_buf_init(&blocks);
	cr_assert_eq(mt_module_open(&file, NULL, &here), 0);
	add_cut(&blocks, 1, here, MT_IMAGE_OWN);
	n = mt_module_segments(here, &segments);
	for (k = 0; k < n && !(segments[k].flags & 1); k++)
		;
	cr_assert_lt(k, n);
	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		file.path = names[i];
		file.ino = i + 1;
		add_file(&blocks, &file, "verified", 1, 0, 0);
		maps[i] = (struct mt_mapping){
			.type = MT_MAP_MAP, .start = (i + 1) << 32,
			.end = ((i + 1) << 32) + ((segments[k].filesz + 0xfff) & ~0xfffull),
			.offset = segments[k].offset & ~0xfffull, .dev_major = file.dev_major,
			.dev_minor = file.dev_minor, .ino = file.ino, .path = names[i],
		};
	}
	mt_module_free(here);
	load(&blocks, 0);
	mt_buf_release(&blocks);
	options.pack = pack;
	cr_assert_eq(mt_session_build(&life, 1, maps, MT_ARRAY_SIZE(maps), &session), 0);
	cr_assert_eq(mt_symbolizer_new(session, &options, &symbolizer), 0);
	cr_assert_eq(mt_profile_folder_write(in_dir("deep/er/p"), session, symbolizer, NULL, NULL),
		     0);
	cr_expect_str_eq(output_of("cd $D && find . -type f ! -name a.so ! -name pack.mtp |"
				   " grep -v '^./deep/er/p/[^/]*$'"), "");
	cr_expect_str_eq(output_of("ls $D/deep/er/p/*.symbols.map | wc -l"), "8");
	cr_expect_str_eq(output_of("ls -d /tmp/escaped* /escaped* 2>/dev/null"), "");
	mt_symbolizer_free(symbolizer);
	mt_session_free(session);
}
