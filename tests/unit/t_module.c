/* Verification and sections of real and damaged ELF files. */
#include "report/module.h"

#include "tests/unit/module_fixture.h"

#include <inttypes.h>
#include <sys/utsname.h>

TestSuite(module, .init = elf_fixture_begin, .fini = elf_fixture_end);

Test(module, free_takes_null)
{
	struct mt_module *none = NULL;

	mt_module_free(none);
	cr_assert_null(none);
}

Test(module, sections_and_build_id_as_readelf_says)
{
	struct mt_module *module;
	uint8_t id[MT_BUILD_ID_MAX], *bytes;
	struct mt_section section;
	char hex[2 * MT_BUILD_ID_MAX + 1] = "";
	size_t n, i, size;

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/libcalls.so");
	run("objcopy -O binary --only-section=.eh_frame --set-section-flags .eh_frame=alloc,load "
	    "$D/libcalls.so $D/eh_frame");
	module = open_verified(in_dir("libcalls.so"));
	n = mt_module_build_id(module, id);
	for (i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	cr_assert_str_eq(hex, output_of("readelf -n $D/libcalls.so | "
					"sed -n 's/.*Build ID: //p'"));

	mt_module_section(module, ".eh_frame", &section);
	bytes = read_file(in_dir("eh_frame"), &size);
	cr_assert_eq(section.size, size);
	cr_assert_arr_eq(section.data, bytes, size);
	cr_assert_eq(section.svma, strtoull(output_of("readelf -SW $D/libcalls.so | awk "
						      "'$2==\".eh_frame\"{print $4} "
						      "$3==\".eh_frame\"{print $5}'"),
					    NULL, 16));
	mt_module_section(module, ".bss", &section);
	cr_assert_null(section.data);
	mt_module_section(module, ".no_such", &section);
	cr_assert_null(section.data);
	cr_assert_eq(mt_module_base_svma(module), 0);
	cr_assert_not_null(mt_module_dwarf(module));
	free(bytes);
	mt_module_free(module);
}

Test(module, compressed_sections_are_unpacked)
{
	struct mt_section plain, packed;
	struct mt_module *a, *b;

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so;"
	    "objcopy --compress-debug-sections=zlib $D/a.so $D/b.so");
	cr_assert_str_neq(output_of("readelf -SW $D/b.so | grep '\\.debug_info.* C '"), "");
	a = open_verified(in_dir("a.so"));
	b = open_verified(in_dir("b.so"));
	mt_module_section(a, ".debug_info", &plain);
	mt_module_section(b, ".debug_info", &packed);
	cr_assert_not_null(plain.data);
	cr_assert_eq(plain.size, packed.size);
	cr_assert_arr_eq(plain.data, packed.data, plain.size);
	/* Once more, now that it is unpacked in place; and libdw after us. */
	mt_module_section(b, ".debug_info", &packed);
	cr_assert_arr_eq(plain.data, packed.data, plain.size);
	cr_assert_not_null(mt_module_dwarf(b));
	mt_module_free(a);
	mt_module_free(b);
}

Test(module, replaced_file_is_refused)
{
	struct mt_file file;
	char want[128];
	struct stat st;

	run("cc -O2 -fPIC -shared $S/calls.c -o $D/a.so; cp $D/a.so $D/new");
	file = file_at(in_dir("a.so"));
	run("mv $D/new $D/a.so");
	cr_assert_eq(stat(file.path, &st), 0);
	snprintf(want, sizeof(want), "inode %" PRIu64 ", recorded %" PRIu64, (uint64_t)st.st_ino,
		 file.ino);
	expect_refused(&file, MT_MODULE_CHANGED, want);

	file = file_at(in_dir("a.so"));
	file.dev_minor ^= 1;
	snprintf(want, sizeof(want),
		 "device %u:%u inode %" PRIu64 ", recorded %u:%u inode %" PRIu64,
		 major(st.st_dev), minor(st.st_dev), (uint64_t)st.st_ino, file.dev_major,
		 file.dev_minor, file.ino);
	expect_refused(&file, MT_MODULE_CHANGED, want);
	file = file_at(in_dir("a.so"));
	file.dev_major ^= 1;
	snprintf(want, sizeof(want),
		 "device %u:%u inode %" PRIu64 ", recorded %u:%u inode %" PRIu64,
		 major(st.st_dev), minor(st.st_dev), (uint64_t)st.st_ino, file.dev_major,
		 file.dev_minor, file.ino);
	expect_refused(&file, MT_MODULE_CHANGED, want);
}

static enum mt_module_status status_by_time(const char *path, uint64_t start_time,
					    uint64_t start_realtime, uint64_t mapped)
{
	struct mt_module_options options = {
		.start_time = start_time, .start_realtime = start_realtime,
	};
	struct mt_file file = file_at(path);
	enum mt_module_status status;
	struct mt_module *module;

	file.mapped = mapped;
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	status = mt_module_status(module);
	cr_expect_str_eq(mt_module_reason(module), status == MT_MODULE_VERIFIED ? "" :
			 "modified after it was mapped");
	mt_module_free(module);
	return status;
}

Test(module, contents_written_after_the_first_mapping_are_refused)
{
	const uint64_t tick = 10000000, boot = 5000000000;
	const char *path = in_dir("a.so");
	uint64_t written, changed;
	struct stat st;

	run("cc -O2 -fPIC -shared $S/calls.c -o $D/a.so; chmod 755 $D/a.so");
	cr_assert_eq(stat(path, &st), 0);
	written = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	/* Mapped before the recording, then so and so long after its start. */
	cr_expect_eq(status_by_time(path, boot, written - tick, 0), MT_MODULE_VERIFIED);
	cr_expect_eq(status_by_time(path, boot, written - tick - 1, 0), MT_MODULE_CHANGED);
	cr_expect_eq(status_by_time(path, boot, written - tick - 1, boot - 7), MT_MODULE_CHANGED);
	cr_expect_eq(status_by_time(path, boot, written - tick - 1, boot), MT_MODULE_CHANGED);
	cr_expect_eq(status_by_time(path, boot, written - tick - 1, boot + 1),
		     MT_MODULE_VERIFIED);
	cr_expect_eq(status_by_time(path, boot, written - 3 * boot, boot + 2 * boot),
		     MT_MODULE_CHANGED);
	cr_expect_eq(status_by_time(path, boot, written - 3 * boot, boot + 3 * boot),
		     MT_MODULE_VERIFIED);
	/* Times that say nothing, or cannot be. */
	cr_expect_eq(status_by_time(path, 0, 0, 0), MT_MODULE_VERIFIED);
	cr_expect_eq(status_by_time(path, boot, UINT64_MAX, 0), MT_MODULE_VERIFIED);
	cr_expect_eq(status_by_time(path, 0, written, UINT64_MAX), MT_MODULE_VERIFIED);

	/* Dated forward: contents are as old as the last change. Dated back: not known. */
	run("touch -d 2100-01-01 $D/a.so");
	cr_assert_eq(stat(path, &st), 0);
	changed = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
	cr_expect_eq(status_by_time(path, boot, changed - tick, 0), MT_MODULE_VERIFIED);
	cr_expect_eq(status_by_time(path, boot, changed - tick - 1, 0), MT_MODULE_CHANGED);
	run("touch -d 2001-01-01 $D/a.so");
	cr_expect_eq(status_by_time(path, boot, changed - tick - 1, 0), MT_MODULE_VERIFIED);
}

Test(module, gone_deleted_and_no_file)
{
	struct mt_file file;

	run("cc -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	file = file_at(in_dir("a.so"));
	run("rm $D/a.so");
	expect_refused(&file, MT_MODULE_GONE, "no such file");
	file.path = "/usr/lib/libx.so (deleted)";
	expect_refused(&file, MT_MODULE_GONE, "deleted before it was mapped");
	file.path = "/memfd:jit (deleted)";
	expect_refused(&file, MT_MODULE_GONE, "deleted before it was mapped");
	file.path = "//anon";
	expect_refused(&file, MT_MODULE_NO_FILE, "not backed by a file");
	file.path = "[heap]";
	expect_refused(&file, MT_MODULE_NO_FILE, "not backed by a file");
	file.path = "";
	expect_refused(&file, MT_MODULE_NO_FILE, "not backed by a file");
	file.path = "/bin/sh";
	file.ino = 0;
	expect_refused(&file, MT_MODULE_NO_FILE, "not backed by a file");
}

Test(module, fifo_in_its_place_does_not_block)
{
	struct mt_file file;

	run("mkfifo $D/fifo");
	file = file_at(in_dir("fifo"));
	expect_refused(&file, MT_MODULE_CHANGED, "not a file any more");
}

Test(module, not_elf)
{
	struct mt_file file;

	write_file(in_dir("text"), "#!/bin/sh\necho hello, world: not an ELF file......\n", 51);
	file = file_at(in_dir("text"));
	expect_refused(&file, MT_MODULE_NOT_ELF, "not an ELF file");
	write_file(in_dir("empty"), "", 0);
	file = file_at(in_dir("empty"));
	expect_refused(&file, MT_MODULE_NOT_ELF, "not an ELF file");
	write_file(in_dir("magic"), "\177ELF", 4);
	file = file_at(in_dir("magic"));
	expect_refused(&file, MT_MODULE_NOT_ELF, "not an ELF file");
	run("ar rc $D/archive.a $S/README");
	file = file_at(in_dir("archive.a"));
	expect_refused(&file, MT_MODULE_NOT_ELF, "not an ELF file");
}

Test(module, vdso_of_this_kernel_only)
{
	struct mt_file file = { .path = "[vdso]" };
	struct mt_module_options options = {};
	struct mt_section section;
	struct mt_module *module;
	struct utsname uts;

	char want[MT_REASON_MAX];

	cr_assert_eq(uname(&uts), 0);
	snprintf(want, sizeof(want), "kernel %.64s here, recorded under an unknown one",
		 uts.release);
	expect_refused(&file, MT_MODULE_NO_FILE, want);
	options.kernel = "2.6.32-none";
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_assert_eq(mt_module_status(module), MT_MODULE_NO_FILE);
	cr_assert_not_null(strstr(mt_module_reason(module), "recorded under 2.6.32-none"));
	mt_module_free(module);

	options.kernel = uts.release;
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_assert_eq(mt_module_status(module), MT_MODULE_VERIFIED, "%s", mt_module_reason(module));
	mt_module_section(module, ".eh_frame", &section);
	cr_assert_not_null(section.data);
	cr_assert_gt(mt_module_symbol_count(module, MT_TABLE_DYNSYM), 3);
	mt_module_free(module);
}

/* Ask everything of a file whose contents may be anything. */
static void use_all(const char *path)
{
	static const char *const names[] = {
		".text", ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".debug_info", ".bss",
	};
	const struct mt_module_segment *segments;
	struct mt_file file = file_at(path);
	struct mt_elf_symbol symbol;
	struct mt_section section;
	struct mt_module *module;
	unsigned char sum = 0;
	size_t i, k, n;
	uint64_t bias;

	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	mt_module_segments(module, &segments);
	for (i = 0; i < MT_ARRAY_SIZE(names); i++) {
		mt_module_section(module, names[i], &section);
		for (k = 0; k < section.size; k++)
			sum ^= section.data[k];
	}
	mt_module_load_bias(module, 0x7f0000001000, 0x1000, 0x1000, &bias);
	for (i = MT_TABLE_SYMTAB; i <= MT_TABLE_DEBUG_SYMTAB; i++) {
		n = mt_module_symbol_count(module, i);
		for (k = 0; k < n && k < 100000; k++) {
			if (mt_module_symbol(module, i, k, &symbol))
				sum ^= strlen(symbol.name);
		}
	}
	mt_module_dwarf(module);
	mt_module_free(module);
	/* The sum only keeps the reads alive. */
	cr_assert_leq(sum, 255);
}

/* Every byte of the ELF header, program headers and section headers, a few values each. */
Test(module, damaged_headers_never_crash, .timeout = 240)
{
	static const uint8_t flips[] = { 0xff, 0x01, 0x80 };
	size_t n, i, k, at, shoff, count = 0;
	const char *path;
	uint8_t *bytes;

	run("cc -g -Os -fPIC -shared -nostdlib $S/calls.c -o $D/a.so");
	bytes = read_file(in_dir("a.so"), &n);
	path = strdup(in_dir("flipped"));
	shoff = strtoull(output_of("readelf -h $D/a.so | "
				   "sed -n 's/.*Start of section headers: *//p'"), NULL, 10);
	cr_assert(shoff > 64 && shoff < n);
	for (at = 0; at < n; at++) {
		if (at >= 64 + 56 * 8 && at < shoff)
			continue;
		for (i = 0; i < MT_ARRAY_SIZE(flips); i++) {
			bytes[at] ^= flips[i];
			write_file(path, bytes, n);
			use_all(path);
			bytes[at] ^= flips[i];
			count++;
		}
	}
	for (k = 0; k < n; k += k < 1024 ? 1 : 97) {
		write_file(path, bytes, k);
		use_all(path);
	}
	cr_assert_gt(count, 3000);
	free((char *)path);
	free(bytes);
}
