#include "record/elf_frames.h"
#include "record/elf_image.h"
#include "record/elf_imports.h"
#include "record/elf_symbols.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

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
	close(fd);
	if (err)
		return err;
	mt_elf_find_functions(&image, names, 2, vaddrs);
	mt_elf_frame_range(&image, 0x1000, &start, &end);
	mt_elf_import_find(&image, 0x4000, &import);
	mt_elf_image_close(&image);
	return 0;
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
	close(fd);
	cr_assert_gt(compare_ranges(&image, LIBC), 1000);
	mt_elf_image_close(&image);
}

/* A copy of the file as gcc -static would have linked it: without .eh_frame_hdr. */
static uint8_t *read_without_table(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY);
	Elf64_Phdr *phdrs;
	struct stat st;
	uint8_t *bytes;
	size_t i;

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	cr_assert_eq(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	close(fd);
	phdrs = (void *)(bytes + ((Elf64_Ehdr *)bytes)->e_phoff);
	for (i = 0; i < ((Elf64_Ehdr *)bytes)->e_phnum; i++)
		if (phdrs[i].p_type == PT_GNU_EH_FRAME)
			phdrs[i].p_type = PT_NULL;
	*ret_size = (size_t)st.st_size;
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
	const Elf64_Shdr *section;
	struct mt_elf_image image;
	uint64_t start, end;

	cr_assert_eq(mt_elf_image_read(bytes, size, &image), 0);
	section = mt_elf_image_section(&image, ".eh_frame");
	cr_assert_not_null(section);
	cr_assert_null(mt_elf_image_section(&image, ".nothing"));
	at = section->sh_offset;
	for (i = 0; i < 400 && i < section->sh_size; i++)
		for (v = 0; v < MT_ARRAY_SIZE(values); v++) {
			old = bytes[at + i];
			bytes[at + i] = values[v];
			if (mt_elf_frame_range(&image, 0x3000, &start, &end))
				cr_assert_lt(start, end);
			bytes[at + i] = old;
		}
	free(bytes);
}
