/* Where a module is loaded, as its loader says. */
#include "report/module.h"

#include "tests/unit/module_fixture.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>

TestSuite(module_bias, .init = elf_fixture_begin, .fini = elf_fixture_end);

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

Test(module_bias, load_bias_is_the_loaders)
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
Test(module_bias, load_bias_of_executables)
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

Test(module_bias, load_bias_needs_a_segment)
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
