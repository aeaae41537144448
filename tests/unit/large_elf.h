/*
 * tests/unit/large_elf.h - a file with a million functions, and code in which branches are looked
 * for, larger than all memory that mt-record may have.
 */
#ifndef MT_TESTS_LARGE_ELF_H
#define MT_TESTS_LARGE_ELF_H

#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <unistd.h>

#include "record/allocator_table.h"
#include "record/allocators.h"
#include "record/probe_site.h"
#include "record/wait_places.h"

struct large {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	Elf64_Shdr shdrs[3];
};

#define LARGE_SYMBOLS 1000000u
#define LARGE_CODE (60u << 20)
#define LARGE_NAMES (60u << 20)

static inline FILE *make_large_elf(void)
{
	const uint64_t code = 4096, syms = code + LARGE_CODE,
		       names = syms + LARGE_SYMBOLS * sizeof(Elf64_Sym);
	struct large file = {
		.ehdr = {
			.e_ident = ELFMAG "\2\1\1", .e_type = ET_DYN, .e_machine = EM_X86_64,
			.e_phoff = offsetof(struct large, phdr), .e_phnum = 1,
			.e_phentsize = sizeof(file.phdr), .e_shnum = MT_ARRAY_SIZE(file.shdrs),
			.e_shoff = offsetof(struct large, shdrs),
			.e_shentsize = sizeof(file.shdrs[0]),
		},
		.phdr = {
			.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = code, .p_vaddr = code,
			.p_filesz = LARGE_CODE, .p_memsz = LARGE_CODE,
		},
		.shdrs[1] = {
			.sh_type = SHT_SYMTAB, .sh_offset = syms, .sh_link = 2,
			.sh_size = names - syms, .sh_entsize = sizeof(Elf64_Sym),
		},
		.shdrs[2] = {
			.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = LARGE_NAMES,
		},
	};
	/* xor eax, eax; jmp: the probe moves there. */
	static const uint8_t function[] = { 0x31, 0xc0, 0xeb, 0x10 };
	Elf64_Sym sym = { .st_info = STT_FUNC, .st_shndx = 1, .st_value = code + (1u << 20) };
	FILE *stream = tmpfile();
	char name[64];
	uint32_t i;

	cr_assert_not_null(stream);
	cr_assert_eq(fwrite(&file, sizeof(file), 1, stream), 1);
	fseeko(stream, (off_t)sym.st_value, SEEK_SET);
	cr_assert_eq(fwrite(function, sizeof(function), 1, stream), 1);
	for (i = 0; i < LARGE_SYMBOLS; i++) {
		/* One in some twenty is a place where "malloc" ends, and one is malloc. */
		sym.st_name = i * 48u + (i == LARGE_SYMBOLS / 2 ? 41 : 0);
		fseeko(stream, (off_t)(syms + i * sizeof(sym)), SEEK_SET);
		cr_assert_eq(fwrite(&sym, sizeof(sym), 1, stream), 1);
	}
	fseeko(stream, (off_t)names, SEEK_SET);
	for (i = 0; i < LARGE_SYMBOLS; i++) {
		snprintf(name, sizeof(name), "_ZN4name5space%027u%s", i,
			 i % 20 ? "Ev_ccc" : "malloc");
		cr_assert_eq(fwrite(name, 48, 1, stream), 1);
	}
	cr_assert_eq(fflush(stream), 0);
	cr_assert_eq(ftruncate(fileno(stream), (off_t)(names + LARGE_NAMES)), 0);
	return stream;
}

/* All that is read of a file that is larger than all memory there is. */
static inline void look_at_large_elf(FILE *stream)
{
	int fd = fileno(stream);
	struct mt_allocator_table *table;
	struct mt_allocator_scan scan;
	struct mt_wait_places places;

	cr_assert_eq(mt_allocator_table_new(NULL, &table), 0);
	cr_assert_eq(mt_allocators_scan(table, fd, NULL, &scan), 0);
	cr_assert_eq(scan.n, 1);
	cr_assert_eq(scan.n_gaps, 0, "%s", scan.n_gaps ? scan.gaps[0].reason : "");
	mt_probe_sites_choose(fd, true, scan.probes, scan.n);
	cr_assert_eq(scan.probes[0].forward, 2);
	cr_assert_eq(mt_wait_places_find(fd, &places), 0);
	mt_allocator_scan_release(&scan);
	mt_allocator_table_free(table);
}

#endif
