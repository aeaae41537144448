#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "common/error.h"
#include "record/elf_dynamic.h"
#include "record/wait_places.h"

static int find(const char *path, struct mt_wait_places *ret_places)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	cr_assert(fd >= 0, "%s", path);
	err = mt_wait_places_find(fd, ret_places);
	close(fd);
	return err;
}

Test(wait_places, finds_the_one_in_the_interpreter_of_this_program)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct mt_elf_dynamic *dynamic;
	struct mt_wait_places places = {};

	cr_assert_eq(mt_elf_dynamic_read(fd, &dynamic), 0);
	cr_assert_eq(find(mt_elf_dynamic_interpreter(dynamic), &places), 0);
	cr_expect_eq(places.linker, MT_LINKER_ALONE);
	cr_assert_geq(places.n, 1);
	cr_expect_gt(places.probes[0].offset, 0);
	cr_expect_eq(places.probes[0].role, MT_PROBE_WAIT);
	cr_expect_eq(places.probes[0].cookie, 0);
	mt_elf_dynamic_free(dynamic);
	close(fd);
}

/* Where execve is, as the one who links this program sees it. */
static int note_execve(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)execve, start;
	uint64_t *ret_offset = arg;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type != PT_LOAD || at < start ||
		    at - start >= info->dlpi_phdr[i].p_memsz)
			continue;
		*ret_offset = at - start + info->dlpi_phdr[i].p_offset;
		return 1;
	}
	return 0;
}

Test(wait_places, finds_what_executes_files_in_the_c_library)
{
	struct mt_wait_places places = {};
	uint64_t offset = 0;
	size_t i, calls = 0, met = 0;
	char line[512], *path = NULL;
	FILE *maps = fopen("/proc/self/maps", "re");

	cr_assert_not_null(maps);
	while (!path && fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = '\0';
		if (strstr(line, "/libc.so.6"))
			path = strchr(line, '/');
	}
	fclose(maps);
	cr_assert_not_null(path);
	cr_assert_eq(find(path, &places), 0);
	cr_expect_not(places.linker);
	dl_iterate_phdr(note_execve, &offset);
	cr_assert_gt(offset, 0);
	for (i = 0; i < places.n; i++) {
		cr_expect_eq(places.probes[i].role, MT_PROBE_EXEC);
		calls |= 1u << places.probes[i].cookie;
		if (places.probes[i].cookie == MT_EXEC_NAME)
			met += places.probes[i].offset == offset;
	}
	cr_expect_eq(calls, 1 << MT_EXEC_NAME | 1 << MT_EXEC_IN_FOLDER | 1 << MT_EXEC_OPEN_FILE);
	cr_expect_eq(met, 1);
}

Test(wait_places, has_none_in_most_files)
{
	struct mt_wait_places places = { .n = 4711 };

	cr_expect_eq(find("/etc/passwd", &places), -MT_E_NOT_ELF);
	cr_expect_eq(places.n, 4711, "written on success only");
	cr_expect_eq(find("/proc/self/exe", &places), 0);
	cr_expect_eq(places.n, 0);
	cr_expect_not(places.linker);
}

/* Programs with musl call mmap() of the file that is their linker too. */
Test(wait_places, of_a_linker_that_is_the_c_library)
{
	static const char musl[] = "/lib/ld-musl-x86_64.so.1";
	struct mt_wait_places places = {};

	if (access(musl, R_OK))
		cr_skip("no musl here");
	cr_assert_eq(find(musl, &places), 0);
	cr_expect_eq(places.linker, MT_LINKER_IN_LIBC);
	cr_assert_geq(places.n, 2);
	cr_expect_eq(places.probes[0].role, MT_PROBE_WAIT);
	cr_expect_neq(places.probes[0].cookie, 0);
	cr_expect_eq(places.probes[1].role, MT_PROBE_EXEC);
}
