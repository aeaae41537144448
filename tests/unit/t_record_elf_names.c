#include "record/elf_symbols.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "record/allocator_table.h"
#include "record/allocators.h"
#include "record/elf_image.h"
#include "tests/unit/many_names.h"

Test(elf_names, names_of_any_size_are_found)
{
	static const char *const names[] = { "free", "malloc" };
	const size_t n_names = 60u << 20;
	struct mt_elf_image image;
	struct many_names *file;
	uint64_t vaddrs[2];
	size_t size;
	FILE *stream = tmpfile();

	cr_assert_not_null(stream);
	file = make_many_names(n_names, &size);
	file->syms[1].st_name = (uint32_t)(n_names - 5);
	memcpy(file->names + n_names - 5, "free", 5);
	file->syms[2].st_name = 40u << 20;
	memcpy(file->names + (40u << 20), "malloc", 7);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(mt_elf_image_open(fileno(stream), &image), 0);
	cr_assert(mt_elf_find_functions(&image, names, 2, vaddrs));
	cr_expect_eq(vaddrs[0], 0x40);
	cr_expect_eq(vaddrs[1], 0x40);
	mt_elf_image_close(&image);

	/* A name that the table's end cuts is none. */
	cr_assert_eq(pwrite(fileno(stream), "x", 1, (off_t)size - 1), 1);
	cr_assert_eq(mt_elf_image_open(fileno(stream), &image), 0);
	mt_elf_find_functions(&image, names, 2, vaddrs);
	cr_expect_eq(vaddrs[0], 0);
	cr_expect_eq(vaddrs[1], 0x40);
	cr_expect_eq(mt_elf_image_failed(&image), 0);
	mt_elf_image_close(&image);
	free(file);
	fclose(stream);
}

#define N_FUNCTIONS 60001u
#define NAME_MAX_BYTES 250u

/* Its names, of all lengths that are looked for. */
static char (*make_names(void))[NAME_MAX_BYTES]
{
	char (*names)[NAME_MAX_BYTES] = calloc(N_FUNCTIONS, sizeof(*names));
	size_t i;

	cr_assert_not_null(names);
	for (i = 0; i < N_FUNCTIONS; i++) {
		memset(names[i], 'x', i * 31 % (NAME_MAX_BYTES - 8));
		snprintf(names[i] + i * 31 % (NAME_MAX_BYTES - 8), 8, "f%06zu", i);
	}
	return names;
}

/* Functions whose names lie so many symbols apart. */
static FILE *make_functions(char (*names)[NAME_MAX_BYTES], size_t apart)
{
	FILE *stream = tmpfile();
	Elf64_Sym *syms = calloc(N_FUNCTIONS, sizeof(*syms));
	struct many_names *file;
	size_t size, i, at = 1, which;
	off_t end;

	cr_assert(stream && syms);
	file = make_many_names(1, &size);
	cr_assert_eq(fseeko(stream, (off_t)(size + at), SEEK_SET), 0);
	for (i = 0; i < N_FUNCTIONS; i++) {
		which = i * apart % N_FUNCTIONS;
		syms[which] = (Elf64_Sym){
			.st_name = (uint32_t)at, .st_info = STT_FUNC, .st_shndx = 1,
			.st_value = 0x40 + which,
		};
		at += strlen(names[which]) + 1;
		cr_assert_eq(fwrite(names[which], 1, strlen(names[which]) + 1, stream),
			     strlen(names[which]) + 1);
	}
	end = (off_t)(size + at + 8) & ~(off_t)7;
	file->shdrs[1].sh_offset = (uint64_t)end;
	file->shdrs[1].sh_size = N_FUNCTIONS * sizeof(*syms);
	file->shdrs[2].sh_offset = size;
	file->shdrs[2].sh_size = at;
	file->phdr.p_filesz = (uint64_t)end;
	cr_assert_eq(fseeko(stream, end, SEEK_SET), 0);
	cr_assert_eq(fwrite(syms, sizeof(*syms), N_FUNCTIONS, stream), N_FUNCTIONS);
	rewind(stream);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fflush(stream), 0);
	free(file);
	free(syms);
	return stream;
}

/* System calls that read, of this process; 0: the kernel does not count them. */
static unsigned long count_reads(void)
{
	FILE *io = fopen("/proc/self/io", "r");
	unsigned long n = 0;

	if (io && fscanf(io, "rchar: %*u wchar: %*u syscr: %lu", &n) != 1)
		n = 0;
	if (io)
		fclose(io);
	return n;
}

/* In any order every name is found, and few reads do for many. */
Test(elf_names, names_are_read_many_at_a_time)
{
	static const size_t apart[] = { 1, N_FUNCTIONS - 1, 2, 7919, 30001 };
	char (*names)[NAME_MAX_BYTES] = make_names();
	const char **list = calloc(N_FUNCTIONS, sizeof(*list));
	uint64_t *vaddrs = calloc(N_FUNCTIONS, sizeof(*vaddrs));
	struct mt_elf_image image;
	unsigned long reads;
	FILE *stream;
	size_t i, k;

	cr_assert(list && vaddrs);
	for (i = 0; i < N_FUNCTIONS; i++)
		list[i] = names[i];
	for (k = 0; k < MT_ARRAY_SIZE(apart); k++) {
		stream = make_functions(names, apart[k]);
		cr_assert_eq(mt_elf_image_open(fileno(stream), &image), 0);
		reads = count_reads();
		cr_assert(mt_elf_find_functions(&image, list, N_FUNCTIONS, vaddrs));
		if (reads)
			cr_expect_lt(count_reads() - reads, N_FUNCTIONS / 100);
		for (i = 0; i < N_FUNCTIONS; i++)
			cr_assert_eq(vaddrs[i], 0x40 + i, "%zu, %zu", apart[k], i);
		mt_elf_image_close(&image);
		fclose(stream);
	}
	free(vaddrs);
	free(list);
	free(names);
}

#define UNREAD "could not be read as a whole: allocators in it may be missed"

/* What is not covered of a file with a symbol table of such a size; NULL: all is. */
static const char *gap_of(uint16_t type, size_t n_syms, uint64_t file_size)
{
	struct mt_allocator_scan scan = {};
	struct mt_allocator_table *table;
	const char *gap;
	struct many_names *file;
	FILE *stream = tmpfile();
	size_t size;

	cr_assert_not_null(stream);
	file = make_many_names(1, &size);
	file->names[0] = '\0';
	file->ehdr.e_type = type;
	file->ehdr.e_machine = EM_X86_64;
	file->shdrs[1].sh_offset = 4096;
	file->shdrs[1].sh_size = n_syms * sizeof(Elf64_Sym);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(ftruncate(fileno(stream), (off_t)file_size), 0);
	cr_assert_eq(mt_allocator_table_new(NULL, &table), 0);
	cr_assert_eq(mt_allocators_scan(table, fileno(stream), NULL, &scan), 0);
	cr_assert_leq(scan.n_gaps, 1);
	gap = scan.n_gaps ? scan.gaps[0].reason : NULL;
	mt_allocator_scan_release(&scan);
	mt_allocator_table_free(table);
	fclose(stream);
	free(file);
	return gap;
}

/* A file with more symbols than are looked at is not one without an allocator, nor stripped. */
Test(elf_names, a_table_that_is_too_large_is_said)
{
	static const char stripped[] = "static and stripped: its allocator cannot be found";
	const size_t max = 1u << 24;
	const uint64_t room = (max + 1) * sizeof(Elf64_Sym) + 4096;
	const char *gap;

	gap = gap_of(ET_EXEC, max + 1, room);
	cr_assert_not_null(gap);
	cr_expect_str_eq(gap, UNREAD);
	gap = gap_of(ET_DYN, max + 1, room);
	cr_assert_not_null(gap);
	cr_expect_str_eq(gap, UNREAD);
	/* What is not in the file is not missed. */
	gap = gap_of(ET_EXEC, max + 1, 8192);
	cr_assert_not_null(gap);
	cr_expect_str_eq(gap, stripped);
	cr_expect_null(gap_of(ET_DYN, max + 1, 8192));
	cr_expect_null(gap_of(ET_DYN, 10, room));
}

/* A descriptor that cannot be read any more fails as a disk does. */
Test(elf_names, a_read_that_fails_is_remembered)
{
	static const char *const names[] = { "free", "malloc" };
	const size_t n_names = 20u << 20;
	struct many_names *file;
	struct mt_elf_image image;
	FILE *stream = tmpfile();
	uint64_t vaddrs[2];
	char bytes[100];
	int fd, blind;
	size_t size;

	cr_assert_not_null(stream);
	fd = fileno(stream);
	file = make_many_names(n_names, &size);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fflush(stream), 0);
	blind = open("/dev/null", O_WRONLY | O_CLOEXEC);
	cr_assert_geq(blind, 0);

	/* Cut: no failure. */
	cr_assert_eq(mt_elf_image_open(fd, &image), 0);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_assert(mt_elf_image_get(&image, 1 << 20, bytes, sizeof(bytes)));
	cr_expect_eq(bytes[0], 0);
	mt_elf_find_functions(&image, names, 2, vaddrs);
	cr_expect_eq(mt_elf_image_failed(&image), 0);
	/* Asked for what is not in it: none either. */
	cr_expect_not(mt_elf_image_get(&image, size, bytes, 1));
	cr_expect_eq(mt_elf_image_failed(&image), 0);
	mt_elf_image_close(&image);

	rewind(stream);
	cr_assert_eq(fwrite(file, 1, size, stream), size);
	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(mt_elf_image_open(fd, &image), 0);
	cr_assert_eq(dup2(blind, fd), fd);
	cr_expect_not(mt_elf_image_get(&image, 1 << 20, bytes, sizeof(bytes)));
	cr_expect_eq(mt_elf_image_failed(&image), -EBADF);
	/* The first failure stays. */
	mt_elf_image_fail(&image, -EFBIG);
	cr_expect_eq(mt_elf_image_failed(&image), -EBADF);
	mt_elf_image_close(&image);
	close(blind);
	free(file);
	fclose(stream);
}

/* Nor is a file that cannot be read at all one that is not ELF. */
Test(elf_names, headers_that_cannot_be_read_are_said)
{
	char path[] = "/tmp/t_record_elf.XXXXXX";
	struct mt_allocator_scan scan;
	struct mt_allocator_table *table;
	struct mt_elf_image image;
	struct many_names *file;
	int fd = mkstemp(path), blind;
	size_t size;

	cr_assert_geq(fd, 0);
	file = make_many_names(1, &size);
	cr_assert_eq(write(fd, file, size), (ssize_t)size);
	blind = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(blind, 0);
	unlink(path);
	cr_expect_eq(mt_elf_image_open(blind, &image), -EBADF);
	cr_assert_eq(mt_allocator_table_new(NULL, &table), 0);
	cr_assert_eq(mt_allocators_scan(table, blind, NULL, &scan), -EBADF);
	mt_allocator_table_free(table);
	close(blind);
	close(fd);
	free(file);
}
