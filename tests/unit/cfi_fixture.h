/*
 * tests/unit/cfi_fixture.h - sections of CIEs and FDEs put together byte by byte.
 */
#ifndef MT_CFI_FIXTURE_H
#define MT_CFI_FIXTURE_H

#include <criterion/criterion.h>

#include "report/cfi_source.h"

#define CFI_SECTION_SVMA 0x100000u

struct cfi_section {
	uint8_t bytes[8192];
	size_t len;
	size_t record;	/* where the open record's length field is */
	bool debug_frame;
};

static inline void cfi_put(struct cfi_section *section, const void *bytes, size_t n)
{
	cr_assert_leq(n, sizeof(section->bytes) - section->len);
	if (n)
		memcpy(section->bytes + section->len, bytes, n);
	section->len += n;
}

static inline void cfi_u8(struct cfi_section *section, uint8_t value)
{
	cfi_put(section, &value, 1);
}

static inline void cfi_u32(struct cfi_section *section, uint32_t value)
{
	cfi_put(section, &value, 4);
}

static inline void cfi_u64(struct cfi_section *section, uint64_t value)
{
	cfi_put(section, &value, 8);
}

static inline void cfi_begin(struct cfi_section *section)
{
	section->record = section->len;
	cfi_u32(section, 0);
}

/* Pad to 8 bytes with DW_CFA_nop and fill the length in. */
static inline void cfi_end(struct cfi_section *section)
{
	uint32_t len;

	while (section->len % 8)
		cfi_u8(section, 0);
	len = (uint32_t)(section->len - section->record - 4);
	memcpy(section->bytes + section->record, &len, 4);
}

/* Offset of a CIE, version 1, code alignment 1, data alignment -8. */
static inline size_t cfi_cie(struct cfi_section *section, const char *augmentation,
			     const void *augmentation_data, size_t n_augmentation, uint8_t ra,
			     const void *code, size_t n_code)
{
	size_t offset = section->len;

	cfi_begin(section);
	cfi_u32(section, section->debug_frame ? UINT32_MAX : 0);
	cfi_u8(section, 1);
	cfi_put(section, augmentation, strlen(augmentation) + 1);
	cfi_u8(section, 1);
	cfi_u8(section, 0x78);
	cfi_u8(section, ra);
	if (*augmentation == 'z')
		cfi_u8(section, (uint8_t)n_augmentation);
	cfi_put(section, augmentation_data, n_augmentation);
	cfi_put(section, code, n_code);
	cfi_end(section);
	return offset;
}

/* CFA is rsp + 8, the return address at CFA - 8; FDEs' addresses are 8 bytes, absolute. */
static inline size_t cfi_x86_cie(struct cfi_section *section)
{
	static const uint8_t code[] = { 0x0c, 7, 8, 0x80 | 16, 1 };

	return cfi_cie(section, "", NULL, 0, 16, code, sizeof(code));
}

static inline void cfi_begin_fde(struct cfi_section *section, size_t cie)
{
	cfi_begin(section);
	cfi_u32(section, (uint32_t)(section->debug_frame ? cie : section->len - cie));
}

static inline void cfi_fde(struct cfi_section *section, size_t cie, uint64_t start, uint64_t len,
			   const void *code, size_t n_code)
{
	cfi_begin_fde(section, cie);
	cfi_u64(section, start);
	cfi_u64(section, len);
	cfi_put(section, code, n_code);
	cfi_end(section);
}

/* For a literal list of instructions. */
#define CFI_CODE(...) \
	(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* The exact bytes, so that a sanitizer sees every overrun. The caller frees. */
static inline uint8_t *cfi_exact(const struct cfi_section *section, size_t len,
				 struct mt_section *ret_section)
{
	uint8_t *copy = malloc(len ? len : 1);

	cr_assert_not_null(copy);
	memcpy(copy, section->bytes, len);
	ret_section->data = copy;
	ret_section->size = len;
	ret_section->svma = CFI_SECTION_SVMA;
	return copy;
}

static inline struct mt_cfi *cfi_compile(const struct cfi_section *section, bool aarch64)
{
	struct mt_cfi_source source = { .aarch64 = aarch64 };
	struct mt_cfi *cfi = NULL;
	uint8_t *copy = cfi_exact(section, section->len,
				  section->debug_frame ? &source.debug_frame : &source.eh_frame);

	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	free(copy);
	return cfi;
}

static inline size_t cfi_damaged(const struct mt_cfi *cfi)
{
	struct mt_cfi_stats stats;

	mt_cfi_stats(cfi, &stats);
	return stats.damaged;
}

#endif
