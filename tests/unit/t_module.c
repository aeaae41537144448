/* Verification, sections, load bias and debug files of real and damaged ELF files. */
#include "report/module.h"

#include "common/error.h"
#include "tests/unit/elf_fixture.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <sys/utsname.h>

static struct mt_module *open_at(const char *path)
{
	struct mt_file file = file_at(path);
	struct mt_module *module;

	cr_assert_eq(mt_module_open(&file, NULL, &module), 0);
	return module;
}

static struct mt_module *open_verified(const char *path)
{
	struct mt_module *module = open_at(path);

	cr_assert_eq(mt_module_status(module), MT_MODULE_VERIFIED, "%s: %s", path,
		     mt_module_reason(module));
	cr_assert_str_eq(mt_module_reason(module), "");
	return module;
}

static void expect_refused(const struct mt_file *file, enum mt_module_status status,
			   const char *reason)
{
	const struct mt_module_segment *segments;
	uint8_t id[MT_BUILD_ID_MAX];
	struct mt_section section;
	struct mt_module *module;
	uint64_t bias;

	cr_assert_eq(mt_module_open(file, NULL, &module), 0);
	cr_expect_eq(mt_module_status(module), status, "status %s",
		     mt_module_status_name(mt_module_status(module)));
	cr_expect_str_eq(mt_module_reason(module), reason);
	/* It answers nothing. */
	cr_expect_eq(mt_module_segments(module, &segments), 0);
	cr_expect_eq(mt_module_build_id(module, id), 0);
	mt_module_section(module, ".text", &section);
	cr_expect_null(section.data);
	cr_expect_eq(mt_module_load_bias(module, 0x1000, 0x1000, 0, &bias), -MT_E_NO_DATA);
	cr_expect_str_eq(mt_module_debug_path(module), "");
	cr_expect_null(mt_module_elf(module));
	cr_expect_null(mt_module_debug_elf(module));
	cr_expect_null(mt_module_dwarf(module));
	cr_expect_eq(mt_module_symbol_count(module, MT_TABLE_DEBUG_SYMTAB), 0);
	mt_module_free(module);
}

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

/* The first executable mapping of path in this process. */
static void find_mapping(const char *path, uint64_t *ret_start, uint64_t *ret_len,
			 uint64_t *ret_offset)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	char line[512], perms[5];
	bool found = false;

	cr_assert_not_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		cr_assert_eq(sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64, &start, &end,
				    perms, &offset), 4);
		found = strstr(line, path) && perms[2] == 'x';
	}
	fclose(maps);
	cr_assert(found, "%s is not mapped", path);
	*ret_start = start;
	*ret_len = end - start;
	*ret_offset = offset;
}

/* Load the library for real: the loader's own idea of the bias must come out. */
static void check_real_bias(const char *flags)
{
	uint64_t start, len, offset, bias, cut;
	struct mt_module *module;
	struct link_map *map;
	void *handle;

	run("cc -g -O2 -fPIC -shared %s $S/calls.c -o $D/bias.so", flags);
	handle = dlopen(in_dir("bias.so"), RTLD_NOW | RTLD_LOCAL);
	cr_assert_not_null(handle, "%s", dlerror());
	cr_assert_eq(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	find_mapping(in_dir("bias.so"), &start, &len, &offset);
	module = open_verified(in_dir("bias.so"));
	cr_assert_eq(mt_module_load_bias(module, start, len, offset, &bias), 0, "%s", flags);
	cr_expect_eq(bias, map->l_addr, "%s: %" PRIx64 " is not %" PRIx64, flags, bias,
		     (uint64_t)map->l_addr);
	/* A part of it, as mprotect or munmap leave behind. */
	for (cut = 0x1000; cut < len; cut += 0x1000) {
		cr_expect_eq(mt_module_load_bias(module, start, cut, offset, &bias), 0);
		cr_expect_eq(bias, map->l_addr, "%s: first 0x%" PRIx64, flags, cut);
		cr_expect_eq(mt_module_load_bias(module, start + cut, len - cut, offset + cut,
						 &bias), 0);
		cr_expect_eq(bias, map->l_addr, "%s: from 0x%" PRIx64, flags, cut);
	}
	dlclose(handle);
	mt_module_free(module);
	run("rm $D/bias.so");
}

Test(module, load_bias_is_the_loaders)
{
	check_real_bias("");
	check_real_bias("-Wl,-z,noseparate-code");
	check_real_bias("-Wl,-z,separate-code");
	check_real_bias("-Wl,-z,max-page-size=0x200000 -Wl,-z,noseparate-code");
	check_real_bias("-Wl,-z,max-page-size=65536");
	check_real_bias("-Wl,-Ttext-segment=0x7000000");
	check_real_bias("-Wl,-z,separate-code -Wl,-Ttext-segment=0x40000");
	/* Newer Debian has it in a package of its own. */
	if (*output_of("command -v ld.gold")) {
		check_real_bias("-fuse-ld=gold");
		check_real_bias("-fuse-ld=gold -Wl,--rosegment");
	}
}

/* As the kernel maps an executable: whole pages of each segment, at p_vaddr plus bias. */
Test(module, load_bias_of_executables)
{
	static const char *const flags[] = {
		"-no-pie", "-static", "-pie -fPIE", "-static-pie -fPIE",
		"-no-pie -Wl,-z,noseparate-code", "-no-pie -Wl,-Ttext-segment=0x50000000",
	};
	const struct mt_module_segment *segments;
	uint64_t bias, skip, want;
	struct mt_module *module;
	size_t i, k, n, executable;

	for (i = 0; i < MT_ARRAY_SIZE(flags); i++) {
		run("cc -O2 %s $S/calls.c -o $D/exe", flags[i]);
		module = open_verified(in_dir("exe"));
		want = strstr(flags[i], "pie -f") ? 0x55d0c0ffe000 : 0;
		n = mt_module_segments(module, &segments);
		executable = 0;
		for (k = 0; k < n; k++) {
			if (!(segments[k].flags & 1))
				continue;
			executable++;
			skip = segments[k].vaddr & 0xfff;
			cr_expect_eq(mt_module_load_bias(module, segments[k].vaddr - skip + want,
							 (segments[k].filesz + skip + 0xfff) &
							 ~0xfffull, segments[k].offset - skip,
							 &bias), 0);
			cr_expect_eq(bias, want, "%s: %" PRIx64, flags[i], bias);
		}
		cr_expect_eq(executable, 1);
		mt_module_free(module);
	}
}

Test(module, load_bias_needs_a_segment)
{
	struct mt_module *module;
	uint64_t bias = 1;

	run("cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so");
	module = open_verified(in_dir("a.so"));
	/* Past the last segment's bytes: debug sections, mapped by somebody's own reader. */
	cr_assert_eq(mt_module_load_bias(module, 0x10000, 0x1000, 0x40000000, &bias),
		     -MT_E_NO_DATA);
	cr_assert_eq(mt_module_load_bias(module, 0x10000, UINT64_MAX, UINT64_MAX - 5, &bias),
		     -MT_E_NO_DATA);
	cr_assert_eq(bias, 1);
	mt_module_free(module);
}

/* Strip a.so into a.so and a debug file called $2, linked to it. */
#define SPLIT \
	"split() { objcopy --only-keep-debug $D/$1 $D/$2; strip $D/$1; " \
	"objcopy --add-gnu-debuglink=$D/$2 $D/$1; }; "

Test(module, debug_file_by_link)
{
	static const char *const places[] = { "a.debug", ".debug/a.debug" };
	struct mt_module *module;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(places); i++) {
		run(SPLIT "cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; mkdir -p $D/.debug;"
		    "split a.so a.debug; [ %s = a.debug ] || mv $D/a.debug $D/%s", places[i],
		    places[i]);
		module = open_verified(in_dir("a.so"));
		cr_expect_str_eq(mt_module_debug_path(module), in_dir(places[i]));
		cr_expect_not_null(mt_module_debug_elf(module));
		cr_expect_not_null(mt_module_dwarf(module));
		cr_expect_eq(mt_module_symbol_count(module, MT_TABLE_SYMTAB), 0);
		cr_expect_gt(mt_module_symbol_count(module, MT_TABLE_DEBUG_SYMTAB), 10);
		mt_module_free(module);
		run("rm -f $D/a.debug $D/.debug/*");
	}
}

Test(module, debug_file_by_build_id_and_under_debug_dir)
{
	struct mt_module_options options = { .debug_dir = in_dir("debug") };
	struct mt_module *module;
	struct mt_file file;

	run(SPLIT "cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; split a.so a.debug;"
	    "id=$(readelf -n $D/a.so | sed -n 's/.*Build ID: //p');"
	    "mkdir -p $D/debug/.build-id/$(echo $id | cut -c1-2) $D/debug/$D;"
	    "cp $D/a.debug $D/debug/$D;"
	    "mv $D/a.debug $D/debug/.build-id/$(echo $id | sed 's|^..|&/|').debug");
	file = file_at(in_dir("a.so"));
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_expect_not_null(strstr(mt_module_debug_path(module), "/debug/.build-id/"));
	cr_expect_not_null(mt_module_dwarf(module));
	mt_module_free(module);

	run("rm -r $D/debug/.build-id");
	cr_assert_eq(mt_module_open(&file, &options, &module), 0);
	cr_expect_not_null(strstr(mt_module_debug_path(module), "/a.debug"));
	mt_module_free(module);
}

Test(module, debug_file_of_another_build_is_refused)
{
	struct mt_module *module;

	run(SPLIT "cc -g -O2 -fPIC -shared $S/calls.c -o $D/a.so; split a.so a.debug;"
	    "cc -g -O1 -fPIC -shared $S/calls.c -o $D/b.so; objcopy --only-keep-debug $D/b.so "
	    "$D/a.debug");
	module = open_verified(in_dir("a.so"));
	cr_expect_str_eq(mt_module_debug_path(module), "");
	cr_expect_null(mt_module_dwarf(module));
	mt_module_free(module);
}

Test(module, debug_file_without_build_id_needs_the_checksum)
{
	struct mt_module *module;

	run(SPLIT "cc -g -O2 -fPIC -shared -Wl,--build-id=none $S/calls.c -o $D/a.so;"
	    "split a.so a.debug");
	module = open_verified(in_dir("a.so"));
	cr_expect_str_eq(mt_module_debug_path(module), in_dir("a.debug"));
	mt_module_free(module);

	run("printf x >> $D/a.debug");
	module = open_verified(in_dir("a.so"));
	cr_expect_str_eq(mt_module_debug_path(module), "");
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

Test(module, below_a_sysroot_the_build_id_decides)
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

Test(module, a_link_out_of_the_sysroot_leads_nowhere)
{
	struct mt_file file;

	run(LINKED "mkdir -p $D/up$D $D/root; cp $D/a.so $D/secret.so;"
	    "ln -s ../../../../../../../../../..$D/secret.so $D/up$D/a.so", "01020304", "a.so");
	file = noted_at(in_dir("a.so"));
	expect_below(&file, "up", MT_MODULE_GONE, "no such file");
}

Test(module, written_to_in_place)
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
