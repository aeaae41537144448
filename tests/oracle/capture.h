/*
 * tests/oracle/capture.h - capture stacks of the running test, as the recorder would.
 */
#ifndef MT_CAPTURE_H
#define MT_CAPTURE_H

#include "common/event.h"
#include "report/unwind.h"
#include "tests/oracle/oracle.h"

/* regs come first: the assembly knows. */
struct mt_capture {
	uint64_t regs[17];
	uint32_t n_bytes;
	uint32_t flags;
	uint64_t above;
	uint32_t budget;	/* at most this many bytes; set by the caller */
	uint8_t bytes[MT_STACK_BYTES_MAX];
};

/*
 * Take the registers at its own first instruction, and the stack from there up. It is
 * the allocator of the tests. Safe in signal handlers once mt_capture_prepare() has run in
 * the thread.
 */
void mt_capture(struct mt_capture *capture);

/* Find the end of the calling thread's stack. */
void mt_capture_prepare(void);

/* Copy the stack from capture->regs[7] up; for state that came from elsewhere. */
void mt_capture_bytes(struct mt_capture *capture);

/* View it as the stack an artifact holds; borrows. */
void mt_capture_stack(const struct mt_capture *capture, struct mt_stack *ret_stack);

/* This process's executable mappings, and what mt_unwind() wants to know of them. */
struct mt_capture_code;
int mt_capture_code_new(struct mt_capture_code **ret_code);
void mt_capture_code_free(struct mt_capture_code *code);
size_t mt_capture_code_mappings(const struct mt_capture_code *code,
				const struct mt_oracle_mapping **ret_mappings);
/* mt_unwind_find_fn */
bool mt_capture_find(void *arg, const struct mt_stack *stack, uint64_t addr,
		     struct mt_unwind_code *ret_code);

#endif
