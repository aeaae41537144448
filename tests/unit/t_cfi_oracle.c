/* Compiled rows of real files against libdw's answers, row by row. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/cfi_source.h"
#include "tests/oracle/capture.h"
#include "tests/oracle/oracle_cfi.h"

#define SAMPLE 20000

/* Rows compared. */
static size_t compare(const char *path, size_t want)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct mt_oracle_cfi_result result;
	struct mt_cfi_stats stats;
	struct mt_cfi *cfi = NULL;
	Elf *elf;

	cr_assert_geq(fd, 0, "%s", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cr_assert_not_null(elf);
	cr_assert_eq(mt_cfi_compile_elf(elf, &cfi), 0, "%s", path);
	mt_cfi_stats(cfi, &stats);
	cr_assert_gt(stats.rows, 0);
	cr_expect_eq(stats.damaged, 0, "%s: %zu damaged", path, stats.damaged);
	cr_expect_eq(mt_oracle_cfi(elf, cfi, stats.rows / want + 1, &result), 0);
	cr_expect_eq(result.different, 0, "%s: %zu differ, first at 0x%" PRIx64 ": %s", path,
		     result.different, result.svma, result.what);
	mt_cfi_free(cfi);
	elf_end(elf);
	close(fd);
	return result.compared;
}

/* Everything that is mapped here: libc, ld.so, libstdc++, libdw, this test. */
Test(cfi_oracle, mapped_files, .timeout = 120)
{
	const struct mt_oracle_mapping *mappings;
	struct mt_capture_code *code;
	size_t compared = 0;
	size_t n;
	size_t i;

	cr_assert_eq(mt_capture_code_new(&code), 0);
	n = mt_capture_code_mappings(code, &mappings);
	for (i = 0; i < n; i++)
		compared += compare(mappings[i].path, SAMPLE);
	cr_assert_gt(compared, 20000);
	mt_capture_code_free(code);
}

/* Without section headers, .eh_frame is found by the program header of .eh_frame_hdr. */
Test(cfi_oracle, file_without_section_headers)
{
	const struct mt_oracle_mapping *mappings;
	struct mt_capture_code *code;
	struct mt_cfi *whole = NULL;
	struct mt_cfi *bare = NULL;
	Elf64_Ehdr *ehdr;
	struct stat st;
	uint8_t *bytes;
	Elf *elf;
	int fd;

	cr_assert_eq(mt_capture_code_new(&code), 0);
	cr_assert_gt(mt_capture_code_mappings(code, &mappings), 0);
	fd = open(mappings[0].path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	cr_assert_not_null(bytes);
	cr_assert_eq(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, (size_t)st.st_size);
	cr_assert_eq(mt_cfi_compile_elf(elf, &whole), 0);
	elf_end(elf);
	ehdr = (Elf64_Ehdr *)bytes;
	ehdr->e_shoff = 0;
	ehdr->e_shnum = 0;
	ehdr->e_shstrndx = 0;
	elf = elf_memory((char *)bytes, (size_t)st.st_size);
	cr_assert_eq(mt_cfi_compile_elf(elf, &bare), 0);
	elf_end(elf);
	cr_expect_gt(mt_cfi_rows(whole), 0);
	cr_expect_eq(mt_cfi_rows(bare), mt_cfi_rows(whole));
	mt_cfi_free(whole);
	mt_cfi_free(bare);
	free(bytes);
	mt_capture_code_free(code);
}

/* Large programs, where they are installed. */
Test(cfi_oracle, large_files, .timeout = 120)
{
	static const char *const patterns[] = {
		"/usr/bin/python3.[0-9]*[0-9]", "/usr/bin/node", "/usr/lib/*/libLLVM-*.so.1",
		"/usr/lib/gcc/*/*/cc1", "/usr/lib/jvm/*/lib/server/libjvm.so",
	};
	glob_t found;
	size_t i;
	size_t k;

	for (i = 0; i < MT_ARRAY_SIZE(patterns); i++) {
		if (glob(patterns[i], 0, NULL, &found))
			continue;
		for (k = 0; k < found.gl_pathc; k++)
			cr_expect_gt(compare(found.gl_pathv[k], SAMPLE), 0);
		globfree(&found);
	}
}
