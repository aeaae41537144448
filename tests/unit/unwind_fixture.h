/*
 * tests/unit/unwind_fixture.h - a module with unwind tables, and a stack, built by hand.
 */
#ifndef MT_UNWIND_FIXTURE_H
#define MT_UNWIND_FIXTURE_H

#include "report/unwind.h"
#include "tests/unit/cfi_fixture.h"

#define STACK_BASE 0x7ffd0000u
#define WORDS 64
#define BIAS 0x550000000000
#define ENTRY 0x1810

/* svmas of the test module; each function is 0x100 long */
enum {
	LEAF = 0x1000,		/* CFA rsp + 8 */
	FRAMELESS = 0x1100,	/* CFA rsp + 32, rbx at CFA - 16 */
	WITH_FP = 0x1200,	/* CFA rbp + 16, rbp at CFA - 16 */
	OUTERMOST = 0x1300,	/* return address undefined */
	TRAMPOLINE = 0x1400,	/* signal frame: registers from [rsp + 0x40...] */
	NEEDS_RBX = 0x1500,	/* CFA rbx + 16 */
	BAD_EXPR = 0x1600,	/* CFA by an expression that divides by zero */
	BACKWARDS = 0x1700,	/* CFA rsp + 0, return address at CFA + 8 */
	NO_INFO = 0x1800,	/* a gap in the table, mapped; has the entry point */
	END_OF_CODE = 0x1900,
};

static struct {
	struct mt_cfi *cfi;
	struct mt_unwinder *unwinder;
	struct mt_stack stack;
	uint64_t words[WORDS];
	const struct mt_frame *frames;
	size_t n;
	enum mt_unwind_end end;
	unsigned int asked;
	bool keep;		/* let the unwinder keep answers */
	bool many;		/* it is not only t.stack that is unwound */
} t;

static inline bool find(void *arg, const struct mt_stack *stack, uint64_t addr,
		 struct mt_unwind_code *ret_code)
{
	cr_assert_eq(arg, &t);
	cr_assert(t.many || stack == &t.stack);
	cr_assert_eq(ret_code->cfi, NULL);
	t.asked++;
	if (addr < BIAS + LEAF || addr >= BIAS + END_OF_CODE)
		return false;
	ret_code->cfi = t.cfi;
	ret_code->bias = BIAS;
	ret_code->placement = 5;
	ret_code->from = 0;
	ret_code->until = t.keep ? 100 : 0;
	return true;
}

static inline void build_table(struct mt_cfi_source *source, uint8_t **ret_copy)
{
	static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
	static struct cfi_section section;
	size_t signal;

	memset(&section, 0, sizeof(section));
	cfi_fde(&section, cfi_x86_cie(&section), LEAF, 0x100, NULL, 0);
	cfi_fde(&section, 0, FRAMELESS, 0x100, CFI_CODE(0x0e, 32, 0x83, 2));
	cfi_fde(&section, 0, WITH_FP, 0x100, CFI_CODE(0x0c, 6, 16, 0x86, 2));
	cfi_fde(&section, 0, OUTERMOST, 0x100, CFI_CODE(0x07, 16));
	cfi_fde(&section, 0, NEEDS_RBX, 0x100, CFI_CODE(0x0c, 3, 16));
	cfi_fde(&section, 0, BAD_EXPR, 0x100, CFI_CODE(0x0f, 3, 0x31, 0x30, 0x1b));
	cfi_fde(&section, 0, BACKWARDS, 0x100, CFI_CODE(0x0e, 0, 0x11, 16, 0x7f));
	signal = cfi_cie(&section, "zS", NULL, 0, 16, initial, sizeof(initial));
	/* CFA = [rsp + 0x40]; rbp at rsp + 0x48, pc at rsp + 0x50 */
	cfi_fde(&section, signal, TRAMPOLINE, 0x100,
		CFI_CODE(0, 0x0f, 4, 0x77, 0xc0, 0x00, 0x06, 0x10, 6, 3, 0x77, 0xc8, 0x00, 0x10,
			 16, 3, 0x77, 0xd0, 0x00));
	*ret_copy = cfi_exact(&section, section.len, &source->eh_frame);
}

static inline void setup(void)
{
	struct mt_cfi_source source = { .entry = ENTRY };
	uint8_t *copy;

	memset(&t, 0, sizeof(t));
	build_table(&source, &copy);
	cr_assert_eq(mt_cfi_compile_source(&source, &t.cfi), 0);
	free(copy);
	cr_assert_eq(cfi_damaged(t.cfi), 0);
	cr_assert_eq(mt_unwinder_new("x86_64", UINT64_MAX, find, &t, &t.unwinder), 0);
	t.stack.id = 1;
	t.stack.time = 10;
	t.stack.n_regs = 17;
	t.stack.regs[7] = STACK_BASE;
	t.stack.regs[16] = BIAS + LEAF;
	t.stack.regs[6] = 0x1234;
	t.stack.bytes = (const uint8_t *)t.words;
	t.stack.n_bytes = sizeof(t.words);
}

static inline void teardown(void)
{
	mt_unwinder_free(t.unwinder);
	mt_cfi_free(t.cfi);
}

static inline uint64_t word_at(unsigned int index)
{
	return STACK_BASE + 8 * (uint64_t)index;
}

/* A return address into a function. */
static inline uint64_t into(uint64_t function)
{
	return BIAS + function + 0x20;
}

static inline void unwind(void)
{
	t.n = mt_unwind(t.unwinder, &t.stack, &t.frames, &t.end);
}

static inline void expect_frame(size_t index, uint64_t pc, enum mt_frame_source source)
{
	cr_assert_lt(index, t.n, "%zu frames, %s", t.n, mt_unwind_end_id(t.end));
	cr_expect_eq(t.frames[index].pc, pc, "frame %zu: 0x%llx", index,
		     (unsigned long long)t.frames[index].pc);
	cr_expect_eq(t.frames[index].source, source, "frame %zu: source %u", index,
		     t.frames[index].source);
}

static inline void expect_end(enum mt_unwind_end end, size_t n)
{
	cr_expect_eq(t.end, end, "ended %s", mt_unwind_end_id(t.end));
	cr_expect_eq(t.n, n, "%zu frames", t.n);
}

/* leaf <- frameless <- with_fp <- frameless <- outermost */
static inline void build_stack(void)
{
	t.words[0] = into(FRAMELESS);
	t.words[3] = into(WITH_FP);		/* its frame: words 1 to 4, CFA = word 5 */
	t.words[4] = into(WITH_FP);
	t.stack.regs[6] = word_at(8);
	t.words[8] = 0xabc;			/* saved rbp */
	t.words[9] = into(FRAMELESS);
	t.words[13] = into(OUTERMOST);
}

#endif
