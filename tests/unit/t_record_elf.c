#include "record/elf_frames.h"
#include "record/elf_image.h"
#include "record/elf_imports.h"
#include "record/elf_symbols.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "record/allocator_table.h"
#include "record/allocators.h"
#include "record/elf_dynamic.h"
#include "record/probe_site.h"
#include "record/wait_places.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

/* Everything that reads ELF files, over these bytes. */
static int find_in(const void *bytes, size_t size)
{
	static const char *const names[] = { "free", "malloc" };
	char path[] = "/tmp/t_record_elf.XXXXXX";
	struct mt_elf_import import;
	struct mt_elf_image image;
	uint64_t vaddrs[2], start, end;
	int fd = mkstemp(path), err;

	cr_assert_geq(fd, 0);
	unlink(path);
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	err = mt_elf_image_open(fd, &image);
	if (!err) {
		mt_elf_find_functions(&image, names, 2, vaddrs);
		mt_elf_frame_range(&image, 0x1000, &start, &end);
		mt_elf_import_find(&image, 0x4000, &import);
		mt_elf_image_close(&image);
	}
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

static void write_bytes(int fd, const uint8_t *bytes, size_t size)
{
	cr_assert_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
}

static uint8_t *read_bytes(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *bytes;

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	cr_assert_eq(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* Cut anywhere after it was opened, it reads as zeros from there on; nobody dies of it. */
Test(elf_image, a_file_may_be_cut_while_it_is_read)
{
	static const char *const names[] = { "free", "malloc" };
	char path[] = "/tmp/t_record_elf.XXXXXX";
	uint8_t id[MT_BUILD_ID_MAX];
	struct mt_elf_import import;
	struct mt_elf_image image;
	uint64_t vaddrs[2], start, end;
	size_t size, cut;
	uint8_t *bytes = read_bytes(LIBC, &size);
	unsigned int whole = 0;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	for (cut = size; cut; cut -= cut < 100003 ? cut : 100003) {
		write_bytes(fd, bytes, size);
		cr_assert_eq(mt_elf_image_open(fd, &image), 0);
		cr_assert_eq(ftruncate(fd, (off_t)cut), 0);
		mt_elf_find_functions(&image, names, 2, vaddrs);
		whole += vaddrs[1] != 0 && mt_elf_image_build_id(&image, id) > 0 &&
			 mt_elf_frame_range(&image, vaddrs[1], &start, &end);
		mt_elf_import_find(&image, 0x4000, &import);
		mt_elf_image_close(&image);
	}
	cr_expect_gt(whole, 0);
	cr_expect_lt(whole, size / 100003);
	close(fd);
	free(bytes);
}

/* The same by another process, all the time, through all that looks for allocators. */
Test(elf_image, a_file_may_be_cut_and_grow_again_at_any_time)
{
	char path[] = "/tmp/t_record_elf.XXXXXX";
	struct mt_allocator_table *table;
	struct mt_allocator_scan scan;
	struct mt_wait_places places;
	struct mt_elf_dynamic *dynamic;
	size_t size, i;
	uint8_t *bytes = read_bytes(LIBC, &size);
	int fd = mkstemp(path);
	pid_t child;

	cr_assert_geq(fd, 0);
	unlink(path);
	write_bytes(fd, bytes, size);
	cr_assert_eq(mt_allocator_table_new(NULL, &table), 0);
	child = fork();
	cr_assert_geq(child, 0);
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; !child; i++)
		if (ftruncate(fd, (off_t)(i * 7919 % size)) || pwrite(fd, bytes, size, 0) < 0)
			_exit(1);
	for (i = 0; i < 300; i++) {
		if (!mt_allocators_scan(table, fd, NULL, &scan)) {
			mt_probe_sites_choose(fd, true, scan.probes, scan.n);
			mt_allocator_scan_release(&scan);
		}
		mt_wait_places_find(fd, &places);
		if (!mt_elf_dynamic_read(fd, &dynamic))
			mt_elf_dynamic_free(dynamic);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	mt_allocator_table_free(table);
	close(fd);
	free(bytes);
}

/* Bytes in parts, over their ends and out of order, are those of the file. */
Test(elf_image, parts_are_what_the_file_has)
{
	struct mt_elf_image image;
	uint8_t some[50000];
	size_t size, at, n, i;
	uint8_t *bytes = read_bytes(LIBC, &size);
	int fd = open(LIBC, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_elf_image_open(fd, &image), 0);
	for (i = 0; i < 3000; i++) {
		at = i * 1000003 % size;
		n = i * 7919 % sizeof(some);
		if (n > size - at) {
			cr_assert_not(mt_elf_image_get(&image, at, some, n));
			n = size - at;
		}
		cr_assert(mt_elf_image_get(&image, at, some, n));
		cr_assert_eq(memcmp(some, bytes + at, n), 0, "%zu, %zu", at, n);
	}
	cr_assert_not(mt_elf_image_get(&image, UINT64_MAX, some, 2));
	cr_assert_not(mt_elf_image_get(&image, size, some, 1));
	cr_assert_eq(mt_elf_image_failed(&image), 0);
	mt_elf_image_close(&image);
	close(fd);
	free(bytes);
}

/* Strings that end at the table's end, at the room's, or nowhere. */
Test(elf_image, strings_end_in_their_table)
{
	static uint64_t file[64];
	struct mt_elf_image image;
	char *texts = (char *)&file[16], text[8];

	memcpy(file, ELFMAG "\2\1\1", 7);
	memcpy(texts, "a\0sevenxx\0eightxxx", 19);
	cr_assert_eq(mt_elf_image_read(file, sizeof(file), &image), 0);
	cr_expect_eq(mt_elf_image_string(&image, 128, 19, 0, text, sizeof(text)), 1);
	cr_expect_str_eq(text, "a");
	cr_expect_eq(mt_elf_image_string(&image, 128, 19, 2, text, sizeof(text)), 7);
	cr_expect_str_eq(text, "sevenxx");
	cr_expect_eq(mt_elf_image_string(&image, 128, 19, 9, text, sizeof(text)), 0);
	cr_expect_eq(mt_elf_image_string(&image, 128, 19, 10, text, sizeof(text)), -E2BIG);
	cr_expect_eq(mt_elf_image_string(&image, 128, 18, 10, text, sizeof(text)), -EINVAL);
	cr_expect_eq(mt_elf_image_string(&image, 128, 19, 19, text, sizeof(text)), -EINVAL);
	cr_expect_eq(mt_elf_image_string(&image, 128, UINT64_MAX, 0, text, 8), -EINVAL);
	cr_expect_eq(mt_elf_image_string(&image, UINT64_MAX, 19, 0, text, 8), -EINVAL);
}

/* Every range of the file, compared with readelf's; how many there are. */
static int compare_ranges(const struct mt_elf_image *image, const char *path)
{
	char command[256];
	unsigned long long first, last;
	uint64_t start, end;
	FILE *out;
	int n = 0;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames %s 2>/dev/null | "
		 "sed -nE 's/.* FDE .*pc=([0-9a-f]*)\\.\\.([0-9a-f]*)$/\\1 \\2/p'", path);
	out = popen(command, "r");
	cr_assert_not_null(out);
	while (fscanf(out, "%llx %llx", &first, &last) == 2) {
		cr_assert(mt_elf_frame_range(image, first, &start, &end), "%llx", first);
		cr_assert_eq(start, first);
		cr_assert_eq(end, last);
		cr_assert(mt_elf_frame_range(image, last - 1, &start, &end));
		cr_assert_eq(start, first);
		n++;
	}
	pclose(out);
	cr_assert_not(mt_elf_frame_range(image, 8, &start, &end));
	return n;
}

Test(elf_frames, ranges_are_those_that_readelf_shows)
{
	struct mt_elf_image image;
	int fd = open(LIBC, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_elf_image_open(fd, &image), 0);
	cr_assert_gt(compare_ranges(&image, LIBC), 1000);
	mt_elf_image_close(&image);
	close(fd);
}

/* A copy of the file as gcc -static would have linked it: without .eh_frame_hdr. */
static uint8_t *read_without_table(const char *path, size_t *ret_size)
{
	uint8_t *bytes = read_bytes(path, ret_size);
	Elf64_Phdr *phdrs;
	size_t i;

	phdrs = (void *)(bytes + ((Elf64_Ehdr *)bytes)->e_phoff);
	for (i = 0; i < ((Elf64_Ehdr *)bytes)->e_phnum; i++)
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			phdrs[i].p_type = PT_NULL;
	return bytes;
}

Test(elf_frames, ranges_are_found_without_the_table)
{
	struct mt_elf_image image;
	size_t size;
	uint8_t *bytes = read_without_table("/bin/ls", &size);

	cr_assert_eq(mt_elf_image_read(bytes, size, &image), 0);
	cr_assert_gt(compare_ranges(&image, "/bin/ls"), 100);
	free(bytes);
}

/* Each byte of the first entries with the worst values: the sanitizers watch. */
Test(elf_frames, hostile_entries_are_survived)
{
	static const uint8_t values[] = { 0, 1, 0x1c, 0x7f, 0x80, 0xff };
	size_t size, i, v, at;
	uint8_t *bytes = read_without_table("/bin/true", &size), old;
	struct mt_elf_image image;
	uint64_t start, end;
	Elf64_Shdr section;

	cr_assert_eq(mt_elf_image_read(bytes, size, &image), 0);
	cr_assert(mt_elf_image_section(&image, ".eh_frame", &section));
	cr_assert_not(mt_elf_image_section(&image, ".nothing", &section));
	at = section.sh_offset;
	for (i = 0; i < 400 && i < section.sh_size; i++)
		for (v = 0; v < MT_ARRAY_SIZE(values); v++) {
			old = bytes[at + i];
			bytes[at + i] = values[v];
			if (mt_elf_frame_range(&image, 0x3000, &start, &end))
				cr_assert_lt(start, end);
			bytes[at + i] = old;
		}
	free(bytes);
}
