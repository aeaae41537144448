/*
 * report/cfi_source.h - from sections to a table; private to the cfi_*.c files and tests.
 */
#ifndef MT_CFI_SOURCE_H
#define MT_CFI_SOURCE_H

#include "report/cfi_program.h"
#include "report/module.h"

/* Sections of one file. Borrowed for the call; a compiled table keeps nothing of them. */
struct mt_cfi_source {
	bool aarch64;		/* else x86-64 */
	struct mt_section eh_frame;
	struct mt_section debug_frame;
	uint64_t text;		/* what DW_EH_PE_textrel and DW_EH_PE_datarel are relative to */
	uint64_t got;
	uint64_t entry;		/* ELF entry point, 0 if none */
	uint64_t code_start;	/* FDEs outside of [start, end) are left out, */
	uint64_t code_end;	/* such as those of functions the linker discarded; 0: no limit */
};

int mt_cfi_compile_source(const struct mt_cfi_source *source, struct mt_cfi **ret_cfi);

/* As mt_cfi_compile(), of a file that the caller trusts to be the right one. */
struct Elf;
int mt_cfi_compile_elf(struct Elf *elf, struct mt_cfi **ret_cfi);

/*
 * The record at *offset: 1, and *offset moves to the next; 0 at the end; -MT_E_CORRUPT for a
 * damaged one, and *offset moves on too (to the end if it cannot be known where the next begins).
 * An FDE's contents are as found; which CIE offset it names is not checked.
 */
int mt_cfi_next_record(const struct mt_section *section, bool eh_frame, uint64_t *offset,
		       struct mt_cfi_record *ret_record);

#endif
