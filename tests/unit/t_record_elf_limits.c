/* What hostile tables of symbols and names can ask for is bounded, and what is left out is said. */
#include "record/elf_symbols.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include "record/elf_dynamic.h"
#include "record/elf_image.h"
#include "record/elf_names.h"
#include "tests/unit/many_names.h"

/* Says of two names how many bytes of its tables are read, what is found and what failed. */
static int look(FILE *stream, uint64_t *vaddrs, uint64_t *ret_bytes)
{
	static const char *const names[] = { "free", "malloc" };
	struct mt_elf_image image;
	FILE *io = fopen("/proc/self/io", "r");
	unsigned long before = 0, after = 0;
	int err;

	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(mt_elf_image_open(fileno(stream), &image), 0);
	cr_assert(io && fscanf(io, "rchar: %lu", &before) == 1);
	mt_elf_find_functions(&image, names, 2, vaddrs);
	io = freopen("/proc/self/io", "r", io);
	cr_assert(io && fscanf(io, "rchar: %lu", &after) == 1);
	fclose(io);
	*ret_bytes = after - before;
	err = mt_elf_image_failed(&image);
	mt_elf_image_close(&image);
	return err;
}

/* Many tables of one symbol, each of which names the string table behind the last of them. */
static FILE *make_many_tables(size_t n_tables, size_t n_texts, size_t texts_size)
{
	FILE *stream = tmpfile();
	size_t n = n_tables + n_texts, i;
	Elf64_Shdr *shdrs = calloc(n, sizeof(*shdrs));
	struct many_names *file;
	size_t size;

	cr_assert(stream && shdrs);
	file = make_many_names(8, &size);
	memcpy(file->names, "free\0\0\0", 8);
	file->ehdr.e_shoff = size;
	file->ehdr.e_shnum = (uint16_t)n;
	for (i = 0; i < n_tables; i++) {
		shdrs[i] = file->shdrs[1];
		shdrs[i].sh_link = (uint32_t)(n_tables + i % n_texts);
	}
	/* They overlap, and all begin with a name. */
	for (; i < n; i++) {
		shdrs[i] = file->shdrs[2];
		shdrs[i].sh_size = texts_size + i;
	}
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fwrite(shdrs, sizeof(*shdrs), n, stream), n);
	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(ftruncate(fileno(stream), (off_t)(size + texts_size + n * 65)), 0);
	free(file);
	free(shdrs);
	return stream;
}

Test(elf_limits, tables_named_many_times)
{
	FILE *stream = make_many_tables(1000, 1, 1 << 20);
	uint64_t vaddrs[2], bytes;

	cr_expect_eq(look(stream, vaddrs, &bytes), 0);
	cr_expect_eq(vaddrs[0], 0x40);
	cr_expect_lt(bytes, 2 << 20);
	fclose(stream);

	stream = make_many_tables(1000, 2, 16 << 20);
	cr_expect_eq(look(stream, vaddrs, &bytes), -EFBIG);
	cr_expect_eq(vaddrs[0], 0x40);
	cr_expect_lt(bytes, MT_ELF_NAME_BYTES_MAX + (2 << 20));
	fclose(stream);

	stream = make_many_tables(1, 1, MT_ELF_NAME_BYTES_MAX);
	cr_expect_eq(look(stream, vaddrs, &bytes), -EFBIG);
	cr_expect_lt(bytes, 1 << 20);
	fclose(stream);
}

/* One name all over a table: as many places as there is room for are found. */
Test(elf_limits, a_name_in_more_places_than_are_held)
{
	size_t size, i, n = MT_ELF_PLACES_MAX + 1;
	struct many_names *file = make_many_names(n * 5, &size);
	uint64_t vaddrs[2], bytes;
	FILE *stream = tmpfile();

	cr_assert_not_null(stream);
	for (i = 0; i < n; i++)
		memcpy(file->names + i * 5, "free", 5);
	file->syms[1].st_name = (uint32_t)(n - 2) * 5;
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_expect_eq(look(stream, vaddrs, &bytes), -EFBIG);
	cr_expect_eq(vaddrs[0], 0x40);

	/* One less, and all are found. */
	file->names[0] = 'x';
	file->names[1] = '\0';
	rewind(stream);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_expect_eq(look(stream, vaddrs, &bytes), 0);
	cr_expect_eq(vaddrs[0], 0x40);
	free(file);
	fclose(stream);
}

/* Names end where strings do, wherever the pieces end in which a table is read. */
Test(elf_limits, names_are_found_at_every_offset)
{
	static const char text[] = "e\0xmalloc\0free\0mallocx\0\0fre";
	size_t size, at;
	struct many_names *file = make_many_names(140000, &size);
	uint64_t vaddrs[2], bytes;
	FILE *stream = tmpfile();

	cr_assert_not_null(stream);
	for (at = 65536 - sizeof(text) - 2; at < 65536 + 4; at++) {
		memset(file->names, 'x', 140000);
		memcpy(file->names + at, text, sizeof(text));
		file->syms[1].st_name = (uint32_t)at + 3;
		file->syms[2].st_name = (uint32_t)at + 10;
		rewind(stream);
		cr_assert_eq(fwrite(file, 1, size, stream), size);
		cr_expect_eq(look(stream, vaddrs, &bytes), 0);
		cr_expect_eq(vaddrs[0], 0x40, "%zu", at);
		cr_expect_eq(vaddrs[1], 0x40, "%zu", at);
		/* Neither is one of the two. */
		file->syms[1].st_name = (uint32_t)at + 2;
		file->syms[2].st_name = (uint32_t)at + 15;
		rewind(stream);
		cr_assert_eq(fwrite(file, 1, size, stream), size);
		cr_expect_eq(look(stream, vaddrs, &bytes), 0);
		cr_expect_eq(vaddrs[0] | vaddrs[1], 0, "%zu", at);
	}
	free(file);
	fclose(stream);
}

/* Strings that end as many of the names do, which are all to be looked at. */
static int look_alike(size_t n_strings)
{
	static char texts[64][72];
	const char *names[MT_ARRAY_SIZE(texts)];
	uint64_t vaddrs[MT_ARRAY_SIZE(texts)];
	struct mt_elf_image image;
	size_t i, size;
	struct many_names *file = make_many_names(n_strings * 5, &size);
	FILE *stream = tmpfile();
	int err;

	cr_assert_not_null(stream);
	for (i = 0; i < MT_ARRAY_SIZE(texts); i++) {
		memset(texts[i], 'a', i + 1);
		memcpy(texts[i] + i + 1, "lloc", 5);
		names[i] = texts[i];
	}
	for (i = 0; i < n_strings; i++)
		memcpy(file->names + i * 5, "lloc", 5);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(mt_elf_image_open(fileno(stream), &image), 0);
	mt_elf_find_functions(&image, names, MT_ARRAY_SIZE(names), vaddrs);
	err = mt_elf_image_failed(&image);
	mt_elf_image_close(&image);
	free(file);
	fclose(stream);
	return err;
}

Test(elf_limits, strings_that_end_alike)
{
	cr_expect_eq(look_alike(100000), 0);
	cr_expect_eq(look_alike(1100000), -EFBIG);
}

#define LONG_PATH 60000u

struct many_paths {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdrs[3];
	Elf64_Dyn entries[16];
	char interpreter[16];
	char path[LONG_PATH];
};

static int read_paths(size_t n_paths, char last, struct mt_elf_dynamic **ret_dynamic)
{
	struct many_paths *file = calloc(1, sizeof(*file));
	FILE *stream = tmpfile();
	size_t i;
	int err;

	cr_assert(file && stream);
	memcpy(file->ehdr.e_ident, ELFMAG "\2\1\1", 7);
	file->ehdr.e_phoff = offsetof(struct many_paths, phdrs);
	file->ehdr.e_phentsize = sizeof(file->phdrs[0]);
	file->ehdr.e_phnum = MT_ARRAY_SIZE(file->phdrs);
	file->phdrs[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R,
				       .p_filesz = sizeof(*file) };
	file->phdrs[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				       .p_offset = offsetof(struct many_paths, entries),
				       .p_filesz = sizeof(file->entries) };
	file->phdrs[2] = (Elf64_Phdr){ .p_type = PT_INTERP,
				       .p_offset = offsetof(struct many_paths, interpreter),
				       .p_filesz = sizeof(file->interpreter) };
	file->entries[0] = (Elf64_Dyn){ DT_STRTAB, { offsetof(struct many_paths, path) } };
	file->entries[1] = (Elf64_Dyn){ DT_STRSZ, { LONG_PATH } };
	for (i = 0; i < n_paths; i++)
		file->entries[2 + i] = (Elf64_Dyn){ DT_RPATH, { 0 } };
	memcpy(file->interpreter, "/lib/ld.so", 11);
	memset(file->path, 'p', LONG_PATH);
	file->path[LONG_PATH - 1] = last;
	cr_assert_eq(fwrite(file, sizeof(*file), 1, stream), 1);
	cr_assert_eq(fflush(stream), 0);
	err = mt_elf_dynamic_read(fileno(stream), ret_dynamic);
	free(file);
	fclose(stream);
	return err;
}

/* Each counts, though only the last is kept; and what follows does not cost the interpreter. */
Test(elf_limits, search_paths_of_any_number)
{
	struct mt_elf_dynamic *dynamic;

	cr_assert_eq(read_paths(4, '\0', &dynamic), 0);
	cr_expect_str_eq(mt_elf_dynamic_interpreter(dynamic), "/lib/ld.so");
	cr_expect_eq(strlen(mt_elf_dynamic_rpath(dynamic)), LONG_PATH - 1);
	mt_elf_dynamic_free(dynamic);
	cr_expect_eq(read_paths(5, '\0', &dynamic), -EFBIG);
}

/* They are read, and count, and are none. */
Test(elf_limits, search_paths_without_an_end)
{
	struct mt_elf_dynamic *dynamic;

	cr_assert_eq(read_paths(3, 'p', &dynamic), 0);
	cr_expect_str_eq(mt_elf_dynamic_interpreter(dynamic), "/lib/ld.so");
	cr_expect_str_eq(mt_elf_dynamic_rpath(dynamic), "");
	mt_elf_dynamic_free(dynamic);
	cr_expect_eq(read_paths(4, 'p', &dynamic), -EFBIG);
}
