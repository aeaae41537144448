/* Records of unwind tables built by hand: augmentations, encodings, ranges. */
#include "tests/unit/cfi_expect.h"

TestSuite(cfi_records, .init = setup, .fini = teardown);

Test(cfi_records, signal_frames_and_personalities)
{
	static const uint8_t code[] = { 0x0c, 7, 8 };
	/* personality: pcrel | sdata4 | indirect; LSDA: pcrel | sdata4; FDE: absptr */
	static const uint8_t data[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x00 };
	static const uint8_t mystery[] = { 0x00, 0xee, 0xee };
	size_t with_s = cfi_cie(&section, "zS", NULL, 0, 16, code, sizeof(code));
	size_t with_plr = cfi_cie(&section, "zPLR", data, sizeof(data), 16, code, sizeof(code));
	size_t with_q = cfi_cie(&section, "zRQ", mystery, sizeof(mystery), 16, code, sizeof(code));

	cfi_fde(&section, with_s, 0x1000, 0x10, CFI_CODE(0, 0x0e, 16));
	cfi_begin_fde(&section, with_plr);
	cfi_u64(&section, 0x2000);
	cfi_u64(&section, 0x10);
	cfi_u8(&section, 4);			/* LSDA pointer */
	cfi_put(&section, CFI_CODE(0xff, 0xff, 0xff, 0xff, 0x0e, 24));
	cfi_end(&section);
	cfi_fde(&section, with_q, 0x3000, 0x10, CFI_CODE(0, 0x0e, 32));
	cfi = cfi_compile(&section, false);
	expect_cfa(0x1000, 7, 16);
	cr_expect_eq(mt_cfi_find(cfi, 0x1000)->flags, MT_CFI_SIGNAL | MT_CFI_RETURNS);
	expect_cfa(0x2000, 7, 24);
	cr_expect_eq(mt_cfi_find(cfi, 0x2000)->flags, MT_CFI_PLAIN | MT_CFI_RETURNS);
	expect_cfa(0x3000, 7, 32);
}

Test(cfi_records, augmentations_that_are_not_understood)
{
	static const uint8_t code[] = { 0x0c, 7, 8 };
	static const uint8_t cut[] = { 0x9b, 1, 2 };

	cfi_fde(&section, cfi_cie(&section, "armcc+", NULL, 0, 16, code, sizeof(code)), 0x1000,
		0x10, NULL, 0);
	cfi_fde(&section, cfi_cie(&section, "zP", cut, sizeof(cut), 16, code, sizeof(code)), 0x2000,
		0x10, CFI_CODE(0));
	cfi_fde(&section, cfi_cie(&section, "", NULL, 0, 99, code, sizeof(code)), 0x3000, 0x10,
		NULL, 0);
	cfi = cfi_compile(&section, false);
	cr_expect_eq(mt_cfi_rows(cfi), 0);
	cr_expect_geq(cfi_damaged(cfi), 3);	/* a record of a CIE may count too */
}

/* An FDE at 0x101234, 0x20 long, with its addresses encoded this way. */
static void expect_encoding(uint8_t encoding, const void *start, size_t n, bool valid)
{
	static const uint8_t code[] = { 0x0c, 7, 8 };
	struct mt_cfi_source source = { .text = 0x101000, .got = 0x101200 };
	uint64_t len = 0x20;
	uint8_t *copy;
	size_t cie;

	memset(&section, 0, sizeof(section));
	cie = cfi_cie(&section, "zR", &encoding, 1, 16, code, sizeof(code));
	cfi_begin_fde(&section, cie);
	cfi_put(&section, start, n);
	cfi_put(&section, &len, (encoding & 7) == 1 ? 1 : (encoding & 7) == 2 ? 2 :
				(encoding & 7) == 3 ? 4 : 8);
	cfi_put(&section, CFI_CODE(0, 0x0e, 16));
	cfi_end(&section);
	copy = cfi_exact(&section, section.len, &source.eh_frame);
	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	free(copy);
	if (valid)
		expect_cfa(0x101234, 7, 16);
	cr_expect_eq(mt_cfi_rows(cfi), valid ? 2 : 0, "encoding 0x%02x", encoding);
	mt_cfi_free(cfi);
	cfi = NULL;
}

/* What follows a CIE of "zR" and an FDE's header: the field's own address. */
#define FIELD (CFI_SECTION_SVMA + 24 + 8)

Test(cfi_records, encodings_of_addresses)
{
	uint64_t abs = 0x101234;
	int64_t pcrel = 0x101234 - (int64_t)FIELD;
	int64_t text = 0x234;
	int64_t got = 0x34;
	uint8_t uleb[] = { 0xb4, 0xa4, 0xc0, 0x00 };
	uint8_t sleb[] = { 0x34 };

	expect_encoding(0x00, &abs, 8, true);
	expect_encoding(0x04, &abs, 8, true);
	expect_encoding(0x0c, &abs, 8, true);
	expect_encoding(0x03, &abs, 4, true);
	expect_encoding(0x0b, &abs, 4, true);
	expect_encoding(0x1b, &pcrel, 4, true);
	expect_encoding(0x1c, &pcrel, 8, true);
	expect_encoding(0x10, &pcrel, 8, true);
	expect_encoding(0x12, &pcrel, 2, true);
	expect_encoding(0x23, &text, 4, true);
	expect_encoding(0x2a, &text, 2, true);
	expect_encoding(0x33, &got, 4, true);
	expect_encoding(0x01, uleb, 4, true);
	expect_encoding(0x39, sleb, 1, true);
	expect_encoding(0x50, &abs, 8, true);	/* aligned: it already is */

	expect_encoding(0x9b, &pcrel, 4, false);	/* indirect */
	expect_encoding(0x05, &abs, 8, false);		/* no such format */
	expect_encoding(0x60, &abs, 8, false);		/* no such application */
	expect_encoding(0xff, &abs, 8, false);		/* omitted */
}

Test(cfi_records, terminators_in_the_middle)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10, NULL, 0);
	cfi_u32(&section, 0);
	cfi_u32(&section, 0);
	cfi_fde(&section, 0, 0x2000, 0x10, NULL, 0);
	cfi_u32(&section, 0);
	cfi = cfi_compile(&section, false);
	expect_cfa(0x1000, 7, 8);
	expect_cfa(0x2000, 7, 8);
	cr_expect_eq(cfi_damaged(cfi), 0);
}

Test(cfi_records, records_of_64_bit_dwarf)
{
	static const uint8_t code[] = { 0x0c, 7, 8 };
	/* version 4, 8-byte addresses */
	static const uint8_t head[] = { 4, 0, 8, 0, 1, 0x78, 16 };

	section.debug_frame = true;
	cfi_u32(&section, UINT32_MAX);
	cfi_u64(&section, 8 + sizeof(head) + sizeof(code));
	cfi_u64(&section, UINT64_MAX);
	cfi_put(&section, head, sizeof(head));
	cfi_put(&section, code, sizeof(code));
	cfi_u32(&section, UINT32_MAX);
	cfi_u64(&section, 8 + 16 + 2);
	cfi_u64(&section, 0);
	cfi_u64(&section, 0x1000);
	cfi_u64(&section, 0x10);
	cfi_put(&section, CFI_CODE(0x0e, 16));
	cfi = cfi_compile(&section, false);
	expect_cfa(0x1000, 7, 16);
	cr_expect_eq(mt_cfi_rows(cfi), 2);
}

Test(cfi_records, overlapping_functions)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x100, CFI_CODE(0x0e, 16));
	cfi_fde(&section, 0, 0x1040, 0x10, CFI_CODE(0x0e, 24));		/* inside: ends the first */
	cfi_fde(&section, 0, 0x2000, 0x10, CFI_CODE(0x0e, 32));
	cfi_fde(&section, 0, 0x2000, 0x20, CFI_CODE(0x0e, 40));		/* the first counts */
	cfi_fde(&section, 0, 0x0800, 0x10, CFI_CODE(0x0e, 48));		/* not sorted */
	cfi_fde(&section, 0, 0x3000, 0, CFI_CODE(0x0e, 48));		/* empty */
	cfi_fde(&section, 0, UINT64_MAX - 8, 0x10, NULL, 0);		/* wraps */
	cfi = cfi_compile(&section, false);
	expect_cfa(0x0800, 7, 48);
	cr_expect_null(mt_cfi_find(cfi, 0x0810));
	expect_cfa(0x103f, 7, 16);
	expect_cfa(0x1040, 7, 24);
	cr_expect_null(mt_cfi_find(cfi, 0x1050));
	expect_cfa(0x200f, 7, 32);
	cr_expect_null(mt_cfi_find(cfi, 0x2010));
	cr_expect_null(mt_cfi_find(cfi, 0x3000));
	cr_expect_eq(cfi_damaged(cfi), 2);
}

Test(cfi_records, debug_frame_fills_what_eh_frame_leaves)
{
	static struct cfi_section debug;
	struct mt_cfi_source source = { .code_start = 0x1000, .code_end = 0x9000 };
	uint8_t *eh_copy;
	uint8_t *debug_copy;

	memset(&debug, 0, sizeof(debug));
	debug.debug_frame = true;
	cfi_fde(&section, cfi_x86_cie(&section), 0x2000, 0x100, CFI_CODE(0x0e, 16));
	cfi_fde(&debug, cfi_x86_cie(&debug), 0x1000, 0x1800, CFI_CODE(0x0e, 24));
	cfi_fde(&debug, 0, 0x2000, 0x40, CFI_CODE(0x0e, 32));	/* covered */
	cfi_fde(&debug, 0, 0x2040, 0x40, CFI_CODE(0x0e, 40));	/* covered */
	cfi_fde(&debug, 0, 0x4000, 0x40, CFI_CODE(0x0e, 48));
	cfi_fde(&debug, 0, 0x0, 0x40, CFI_CODE(0x0e, 56));	/* discarded by the linker */
	cfi_fde(&debug, 0, 0x8fff, 2, CFI_CODE(0x0e, 56));	/* not all of it is code */
	eh_copy = cfi_exact(&section, section.len, &source.eh_frame);
	debug_copy = cfi_exact(&debug, debug.len, &source.debug_frame);
	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	free(eh_copy);
	free(debug_copy);
	expect_cfa(0x1fff, 7, 24);
	expect_cfa(0x2000, 7, 16);
	expect_cfa(0x20ff, 7, 16);
	cr_expect_null(mt_cfi_find(cfi, 0x2100));
	expect_cfa(0x4000, 7, 48);
	cr_expect_null(mt_cfi_find(cfi, 0));
	cr_expect_null(mt_cfi_find(cfi, 0x8fff));
	cr_expect_eq(cfi_damaged(cfi), 2);
}

Test(cfi_records, rows_span_at_most_4_gib)
{
	cfi_fde(&section, cfi_x86_cie(&section), 0x1000, 0x10, NULL, 0);
	cfi_fde(&section, 0, 0x1000 + UINT32_MAX - 0x20, 0x10, NULL, 0);
	cfi_fde(&section, 0, 0x1000 + UINT32_MAX - 0x8, 0x10, CFI_CODE(0x50, 0x0e, 16));
	cfi_fde(&section, 0, 0x8000000000, 0x10, NULL, 0);
	cfi = cfi_compile(&section, false);
	expect_cfa(0x1000, 7, 8);
	cr_expect_null(mt_cfi_find(cfi, 0x1010));
	expect_cfa(0x1000 + UINT32_MAX - 0x20, 7, 8);
	cr_expect_null(mt_cfi_find(cfi, 0x8000000000));
	cr_expect_eq(cfi_damaged(cfi), 1);
}

Test(cfi_records, no_sections_and_empty_ones)
{
	struct mt_cfi_source source = { 0 };
	struct mt_cfi *none = NULL;

	cr_expect_eq(mt_cfi_compile_source(&source, &none), -MT_E_NO_DATA);
	cr_expect_null(none);
	cfi_u32(&section, 0);
	cfi = cfi_compile(&section, false);
	cr_expect_eq(mt_cfi_rows(cfi), 0);
	cr_expect_null(mt_cfi_find(cfi, 0));
	cr_expect_null(mt_cfi_find(cfi, UINT64_MAX));
	cr_expect_not(mt_cfi_is_entry(cfi, 0));
}

/* An FDE that names no CIE: nothing, another FDE, or something outside. */
Test(cfi_records, fdes_without_a_cie)
{
	size_t fde;

	cfi_x86_cie(&section);
	fde = section.len;
	cfi_fde(&section, 0, 0x1000, 0x10, NULL, 0);
	cfi_fde(&section, fde, 0x2000, 0x10, NULL, 0);
	cfi_fde(&section, 3, 0x3000, 0x10, NULL, 0);
	cfi_fde(&section, 0x70000000, 0x4000, 0x10, NULL, 0);
	cfi = cfi_compile(&section, false);
	cr_expect_eq(cfi_damaged(cfi), 3);
	cr_expect_eq(mt_cfi_rows(cfi), 2);
	expect_cfa(0x1000, 7, 8);
}
