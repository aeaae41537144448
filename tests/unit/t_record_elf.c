#include "record/allocators.h"
#include "record/elf_symbols.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "common/error.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

/* What readelf says of a function of libc: its value, which here is its file offset too. */
static uint64_t readelf_offset(const char *function)
{
	char command[256];
	unsigned long long value = 0;
	FILE *out;

	snprintf(command, sizeof(command),
		 "readelf -W --dyn-syms %s | awk '$8 ~ /^%s@@/ {print $2}'", LIBC, function);
	out = popen(command, "r");
	cr_assert_not_null(out);
	cr_assert_eq(fscanf(out, "%llx", &value), 1);
	pclose(out);
	return value;
}

static const struct mt_probe *probe_at(const struct mt_probe *probes, size_t n, uint64_t offset)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (probes[i].offset == offset)
			return &probes[i];
	return NULL;
}

Test(allocators, every_function_of_libc_has_one_probe_at_its_place)
{
	static const struct {
		const char *name;
		uint32_t kind, size, count, ptr, align, out;
	} want[] = {
		{ "malloc", MT_RING_MALLOC, 1, 0, 0, 0, 0 },
		{ "calloc", MT_RING_CALLOC, 2, 1, 0, 0, 0 },
		{ "realloc", MT_RING_REALLOC, 2, 0, 1, 0, 0 },
		{ "reallocarray", MT_RING_REALLOC, 3, 2, 1, 0, 0 },
		{ "aligned_alloc", MT_RING_ALIGNED, 2, 0, 0, 1, 0 },
		{ "memalign", MT_RING_ALIGNED, 2, 0, 0, 1, 0 },
		{ "posix_memalign", MT_RING_ALIGNED, 3, 0, 0, 2, 1 },
		{ "valloc", MT_RING_ALIGNED, 1, 0, 0, 0, 0 },
		{ "pvalloc", MT_RING_ALIGNED, 1, 0, 0, 0, 0 },
		{ "free", MT_RING_FREE, 0, 0, 1, 0, 0 },
	};
	struct mt_probe probes[MT_PROBES_MAX];
	size_t n, i, k;
	int fd = open(LIBC, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_allocators_find(fd, probes, &n), 0);
	close(fd);
	for (i = 0; i < MT_ARRAY_SIZE(want); i++) {
		const struct mt_probe *probe = probe_at(probes, n, readelf_offset(want[i].name));

		cr_assert_not_null(probe, "%s", want[i].name);
		cr_assert_eq(MT_COOKIE_KIND(probe->cookie), want[i].kind, "%s", want[i].name);
		cr_assert_eq(MT_COOKIE_SIZE(probe->cookie), want[i].size, "%s", want[i].name);
		cr_assert_eq(MT_COOKIE_COUNT(probe->cookie), want[i].count, "%s", want[i].name);
		cr_assert_eq(MT_COOKIE_PTR(probe->cookie), want[i].ptr, "%s", want[i].name);
		cr_assert_eq(MT_COOKIE_ALIGN(probe->cookie), want[i].align, "%s", want[i].name);
		cr_assert_eq(MT_COOKIE_OUT(probe->cookie), want[i].out, "%s", want[i].name);
	}
	for (i = 0; i < n; i++)
		for (k = 0; k < i; k++)
			cr_assert_neq(probes[i].offset, probes[k].offset);
}

Test(allocators, a_program_without_allocators_has_no_probes)
{
	struct mt_probe probes[MT_PROBES_MAX];
	size_t n = 99;
	int fd = open("/bin/true", O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_allocators_find(fd, probes, &n), 0);
	cr_assert_eq(n, 0);
	close(fd);
}

static int find_in(const void *bytes, size_t size)
{
	static const char *const names[] = { "free", "malloc" };
	char path[] = "/tmp/t_record_elf.XXXXXX";
	uint64_t offsets[2];
	int fd = mkstemp(path), err;

	cr_assert_geq(fd, 0);
	unlink(path);
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	err = mt_elf_find_functions(fd, names, 2, offsets);
	close(fd);
	return err;
}

Test(elf_symbols, what_is_not_elf_is_refused)
{
	cr_assert_eq(find_in("", 0), -MT_E_NOT_ELF);
	cr_assert_eq(find_in("#!/bin/sh\n", 10), -MT_E_NOT_ELF);
	cr_assert_eq(find_in("\177ELF", 4), -MT_E_NOT_ELF);
}

/* Header fields set to the worst values: no crash, no read outside; the sanitizers watch. */
Test(elf_symbols, hostile_headers_are_survived)
{
	static const uint64_t values[] = { 0, 1, 7, 8, 64, UINT16_MAX, UINT32_MAX, UINT64_MAX,
					   UINT64_MAX - 7, INT64_MAX };
	static uint8_t bytes[32768];
	size_t size, i, v;
	int fd = open("/bin/true", O_RDONLY);
	struct stat st;

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	size = (size_t)st.st_size < sizeof(bytes) ? (size_t)st.st_size : sizeof(bytes);
	for (i = 16; i + 8 <= sizeof(Elf64_Ehdr); i += 2) {
		for (v = 0; v < MT_ARRAY_SIZE(values); v++) {
			int err;

			cr_assert_eq(pread(fd, bytes, size, 0), (ssize_t)size);
			memcpy(bytes + i, &values[v], 8);
			err = find_in(bytes, size);
			cr_assert(err == 0 || err == -MT_E_NOT_ELF, "%d", err);
		}
	}
	close(fd);
}
