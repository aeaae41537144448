#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/error.h"
#include "record/allocators.h"
#include "record/elf_dynamic.h"
#include "record/linker.h"

static int find(const char *path, struct mt_probe *ret_probe)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	cr_assert(fd >= 0, "%s", path);
	err = mt_linker_find(fd, ret_probe);
	close(fd);
	return err;
}

Test(linker, finds_the_place_in_the_interpreter_of_this_program)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct mt_elf_dynamic *dynamic;
	struct mt_probe probe = {};

	cr_assert_eq(mt_elf_dynamic_read(fd, &dynamic), 0);
	cr_assert_eq(find(mt_elf_dynamic_interpreter(dynamic), &probe), 0);
	cr_expect_gt(probe.offset, 0);
	cr_expect_eq(probe.role, MT_PROBE_WAIT);
	cr_expect_eq(probe.cookie, 0);
	mt_elf_dynamic_free(dynamic);
	close(fd);
}

Test(linker, is_not_a_program_nor_a_library)
{
	struct mt_probe probe = { .offset = 1 };

	cr_expect_eq(find("/proc/self/exe", &probe), -ENOENT);
	cr_expect_eq(find("/etc/passwd", &probe), -MT_E_NOT_ELF);
	cr_expect_eq(probe.offset, 1, "written on success only");
}

/* Programs with musl call mmap() of the file that is their linker too. */
Test(linker, is_not_one_that_is_the_c_library)
{
	static const char musl[] = "/lib/ld-musl-x86_64.so.1";
	struct mt_probe probe = {};

	if (access(musl, R_OK))
		cr_skip("no musl here");
	cr_expect_eq(find(musl, &probe), -ENOENT);
}
