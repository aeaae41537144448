/* Hostile unwind sections: cut, flipped, repetitive. Nothing may crash, hang or use much memory. */
#include <time.h>

#include "common/error.h"
#include "tests/unit/cfi_fixture.h"

static struct cfi_section section;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A bit of everything. */
static void build(bool debug_frame)
{
	static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
	static const uint8_t data[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x00 };
	size_t cie;

	memset(&section, 0, sizeof(section));
	section.debug_frame = debug_frame;
	cie = cfi_x86_cie(&section);
	cfi_fde(&section, cie, 0x1000, 0x40,
		CFI_CODE(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x44, 0x83, 3, 0x0a, 0x60, 0x0c, 7,
			 8, 0x41, 0x0b, 0x02, 3, 0x16, 9, 2, 0x23, 8, 0x0f, 2, 0x77, 8));
	cie = cfi_cie(&section, "zPLR", data, sizeof(data), 16, initial, sizeof(initial));
	cfi_begin_fde(&section, cie);
	cfi_u64(&section, 0x2000);
	cfi_u64(&section, 0x10);
	cfi_u8(&section, 4);
	cfi_put(&section, CFI_CODE(0, 0, 0, 0, 0x41, 0x0e, 24, 0x01, 8, 0x20, 0, 0, 0, 0, 0, 0));
	cfi_end(&section);
	if (!debug_frame)
		cfi_u32(&section, 0);
}

/* Compile and look everywhere. */
static void try(const struct cfi_section *from, size_t len)
{
	struct mt_cfi_source source = { 0 };
	struct mt_cfi *cfi = NULL;
	uint8_t *copy = cfi_exact(from, len,
				  from->debug_frame ? &source.debug_frame : &source.eh_frame);
	struct mt_cfi_stats stats;
	uint64_t last = 0;
	uint64_t svma;
	size_t i;

	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	mt_cfi_stats(cfi, &stats);
	cr_assert_lt(stats.bytes, 1u << 16);
	for (i = 0; i < mt_cfi_rows(cfi); i++) {
		mt_cfi_row(cfi, i, &svma);
		cr_assert(!i || svma > last);
		cr_assert_eq(mt_cfi_find(cfi, svma), mt_cfi_row(cfi, i, &last));
		cr_assert_eq(mt_cfi_find(cfi, svma - 1) != NULL,
			     i > 0 && mt_cfi_row(cfi, i - 1, &last) != NULL);
		last = svma;
	}
	mt_cfi_free(cfi);
	free(copy);
}

Test(cfi_hostile, cut_at_every_byte)
{
	size_t len;
	int debug_frame;

	for (debug_frame = 0; debug_frame < 2; debug_frame++) {
		build(debug_frame);
		for (len = 1; len <= section.len; len++)
			try(&section, len);
	}
}

Test(cfi_hostile, every_byte_changed)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct cfi_section changed;
	int debug_frame;
	size_t at;
	size_t i;

	for (debug_frame = 0; debug_frame < 2; debug_frame++) {
		build(debug_frame);
		for (at = 0; at < section.len; at++) {
			for (i = 0; i < sizeof(values) + 8; i++) {
				changed = section;
				changed.bytes[at] = i < sizeof(values) ?
					values[i] :
					changed.bytes[at] ^ (uint8_t)(1u << (i - sizeof(values)));
				try(&changed, changed.len);
			}
		}
	}
}

#define CIES 256

/* A section of n FDEs, each of which has another CIE than the one before, with a long program. */
static uint8_t *many_fdes(size_t n, size_t program, size_t *ret_len)
{
	size_t cie_len = 16 + program;
	size_t cap = CIES * (cie_len + 4) + n * 32;
	uint8_t *bytes = calloc(1, cap);
	uint32_t word;
	size_t len = 0;
	uint64_t start;
	size_t i;

	cr_assert_not_null(bytes);
	for (i = 0; i < CIES; i++) {
		word = (uint32_t)cie_len;
		memcpy(bytes + len, &word, 4);
		bytes[len + 8] = 1;		/* version; the augmentation is empty */
		bytes[len + 10] = 1;
		bytes[len + 11] = 0x78;
		bytes[len + 12] = 16;
		memcpy(bytes + len + 13, "\x0c\x07\x08", 3);
		memset(bytes + len + 16, 0x0c, cie_len - 12);	/* def_cfa r12, 12 over and over */
		len += cie_len + 4;
	}
	for (i = 0; i < n; i++) {
		word = 28;
		memcpy(bytes + len, &word, 4);
		word = (uint32_t)(len + 4 - (i % CIES) * (cie_len + 4));
		memcpy(bytes + len + 4, &word, 4);
		start = 0x1000 + i * 16;
		memcpy(bytes + len + 8, &start, 8);
		bytes[len + 16] = 16;
		len += 32;
	}
	*ret_len = len;
	return bytes;
}

Test(cfi_hostile, long_programs_shared_by_many)
{
	struct mt_cfi_source source = { 0 };
	struct mt_cfi_stats stats;
	struct mt_cfi *cfi = NULL;
	double begin = seconds();
	size_t len;
	uint8_t *bytes = many_fdes(20000, 60000, &len);

	source.eh_frame.data = bytes;
	source.eh_frame.size = len;
	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	mt_cfi_stats(cfi, &stats);
	cr_expect_gt(stats.damaged, 0);
	cr_expect_lt(seconds() - begin, 10);
	mt_cfi_free(cfi);
	free(bytes);
}

/* Every row another rule set: memory must stay proportional to the section. */
Test(cfi_hostile, no_two_rows_alike)
{
	static const uint8_t head[] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0, 0, 0, 0 };
	struct mt_cfi_source source = { 0 };
	struct mt_cfi_stats stats;
	struct mt_cfi *cfi = NULL;
	size_t n = 1u << 21;
	size_t cap = 64 + n * 6;
	uint8_t *bytes = calloc(1, cap);
	uint64_t start = 0x1000;
	uint64_t size = n;
	size_t len = 0;
	uint32_t word;
	size_t i;

	cr_assert_not_null(bytes);
	word = 4 + sizeof(head);
	memcpy(bytes, &word, 4);
	memcpy(bytes + 8, head, sizeof(head));
	len = 8 + sizeof(head);
	word = (uint32_t)(cap - len - 4);
	memcpy(bytes + len, &word, 4);
	word = (uint32_t)len + 4;
	memcpy(bytes + len + 4, &word, 4);
	memcpy(bytes + len + 8, &start, 8);
	memcpy(bytes + len + 16, &size, 8);
	len += 24;
	for (i = 0; i < n; i++) {
		bytes[len++] = 0x0e;
		bytes[len++] = (uint8_t)(0x80 | (i & 0x7f));
		bytes[len++] = (uint8_t)(0x80 | (i >> 7 & 0x7f));
		bytes[len++] = (uint8_t)(0x80 | (i >> 14 & 0x7f));
		bytes[len++] = 1;
		bytes[len++] = 0x41;
	}
	source.eh_frame.data = bytes;
	source.eh_frame.size = cap;
	cr_assert_eq(mt_cfi_compile_source(&source, &cfi), 0);
	mt_cfi_stats(cfi, &stats);
	/* Over the number of sets there may be: the entry is left out. */
	cr_expect_eq(stats.rows, 0);
	cr_expect_eq(stats.damaged, 1);
	cr_expect_leq(stats.rule_sets, MT_CFI_SETS_MAX);
	mt_cfi_free(cfi);
	free(bytes);
}
