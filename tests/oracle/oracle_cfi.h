/*
 * tests/oracle/oracle_cfi.h - compiled unwind rows against libdw's interpretation.
 */
#ifndef MT_ORACLE_CFI_H
#define MT_ORACLE_CFI_H

#include <stddef.h>
#include <stdint.h>

struct Elf;
struct mt_cfi;

struct mt_oracle_cfi_result {
	size_t compared;
	size_t different;
	uint64_t svma;		/* the first that differs, */
	char what[128];		/* and how */
};

/* Compare every stride-th row at its first address. 0, or -MT_E_NO_DATA if libdw has no CFI. */
int mt_oracle_cfi(struct Elf *elf, const struct mt_cfi *cfi, size_t stride,
		  struct mt_oracle_cfi_result *ret_result);

#endif
