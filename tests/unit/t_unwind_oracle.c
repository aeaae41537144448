/* mt_unwind() on this process's own stacks, compared with libunwind and libdw. */
#include <alloca.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include "tests/oracle/capture.h"
#include "tests/oracle/compare.h"

#define PCS_MAX 512
#define DEEP 20

/* In thrower.cc. */
void mt_thrower(void (*callback)(void *), void *arg);

struct fixture {
	struct mt_capture_code *code;
	struct mt_unwinder *unwinder;
	struct mt_oracle *oracles[2];
	size_t tally[2][MT_COMPARE_N];
	size_t ends[MT_UNWIND_END_KINDS];
	size_t gave_up;		/* oracles, on the last stack */
};

static struct fixture fixture;
static struct mt_capture capture;
static struct mt_capture second;
static struct mt_capture third;
static volatile int sink;

static void setup(void)
{
	const struct mt_oracle_mapping *mappings;
	size_t n;

	memset(&fixture, 0, sizeof(fixture));
	cr_assert_eq(mt_capture_code_new(&fixture.code), 0);
	cr_assert_eq(mt_unwinder_new("x86_64", UINT64_MAX, mt_capture_find, fixture.code,
				     &fixture.unwinder), 0);
	n = mt_capture_code_mappings(fixture.code, &mappings);
	cr_assert_gt(n, 3);
	cr_assert_eq(mt_oracle_libunwind_new(mappings, n, &fixture.oracles[0]), 0);
	cr_assert_eq(mt_oracle_libdw_new(mappings, n, &fixture.oracles[1]), 0);
	mt_capture_prepare();
	capture.budget = MT_STACK_BYTES_MAX;
	second.budget = MT_STACK_BYTES_MAX;
	third.budget = MT_STACK_BYTES_MAX;
}

static void teardown(void)
{
	mt_oracle_free(fixture.oracles[0]);
	mt_oracle_free(fixture.oracles[1]);
	mt_unwinder_free(fixture.unwinder);
	mt_capture_code_free(fixture.code);
}

TestSuite(unwind_oracle, .init = setup, .fini = teardown, .timeout = 120);

/* Say what differs, once or twice. */
static void explain(const char *name, const struct mt_frame *frames, size_t n,
		    enum mt_unwind_end end, const uint64_t *pcs, size_t n_pcs)
{
	size_t i;

	cr_log_warn("ours %zu frames, %s; %s %zu", n, mt_unwind_end_id(end), name, n_pcs);
	for (i = 0; i < n || i < n_pcs; i++)
		cr_log_warn("  %2zu %16llx %16llx", i,
			    i < n ? (unsigned long long)frames[i].pc : 0,
			    i < n_pcs ? (unsigned long long)pcs[i] : 0);
}

/*
 * Unwind with all three; the number of our frames. One oracle may give up early, not both:
 * libdw 0.188 takes rbx for a register that calls may change.
 */
static size_t compare(const struct mt_stack *stack, enum mt_unwind_end *ret_end)
{
	static uint64_t pcs[PCS_MAX];
	const struct mt_frame *frames;
	enum mt_unwind_end end;
	enum mt_compare_kind kind;
	size_t n = mt_unwind(fixture.unwinder, stack, &frames, &end);
	size_t n_pcs;
	size_t common;
	size_t i;
	bool missed;

	fixture.ends[end]++;
	fixture.gave_up = 0;
	for (i = 0; i < 2; i++) {
		cr_assert_eq(mt_oracle_unwind(fixture.oracles[i], stack, pcs, PCS_MAX, &n_pcs,
					      &missed), 0);
		kind = mt_compare(frames, n, end, pcs, n_pcs, missed, &common);
		if (fixture.tally[i][kind]++ < 2 && kind == MT_COMPARE_DIFFERENT)
			explain(mt_oracle_name(fixture.oracles[i]), frames, n, end, pcs, n_pcs);
		fixture.gave_up += kind == MT_COMPARE_GAVE_UP;
	}
	cr_assert_lt(fixture.gave_up, 2);
	if (ret_end)
		*ret_end = end;
	return n;
}

/* A capture must unwind the same everywhere, to the given end, with more than min frames. */
static void expect_same(const struct mt_capture *taken, enum mt_unwind_end want, size_t min)
{
	struct mt_stack stack;
	enum mt_unwind_end end;
	size_t n;
	size_t i;

	mt_capture_stack(taken, &stack);
	n = compare(&stack, &end);
	cr_assert_eq(end, want, "ended %s", mt_unwind_end_id(end));
	cr_assert_gt(n, min, "%zu frames", n);
	for (i = 0; i < 2; i++)
		cr_assert_gt(fixture.tally[i][MT_COMPARE_EQUAL], 0, "%s differs",
			     mt_oracle_name(fixture.oracles[i]));
	memset(fixture.tally, 0, sizeof(fixture.tally));
}

__attribute__((noinline)) static void nest(int depth, struct mt_capture *into)
{
	volatile char *space;

	/* Every other frame has a size that only it knows. */
	if (depth % 2) {
		space = alloca((size_t)depth * 24);
		space[0] = (char)depth;
		sink += space[0];
	}
	if (depth)
		nest(depth - 1, into);
	else
		mt_capture(into);
	sink++;
}

Test(unwind_oracle, nested_calls_and_alloca)
{
	nest(DEEP, &capture);
	expect_same(&capture, MT_UNWIND_COMPLETE, DEEP);
}

static int capturing_compare(const void *a, const void *b)
{
	if (!capture.n_bytes)
		mt_capture(&capture);
	return *(const int *)a - *(const int *)b;
}

Test(unwind_oracle, callback_from_libc)
{
	int numbers[] = { 3, 1, 2, 5, 4 };

	capture.n_bytes = 0;
	qsort(numbers, MT_ARRAY_SIZE(numbers), sizeof(numbers[0]), capturing_compare);
	expect_same(&capture, MT_UNWIND_COMPLETE, 4);
}

static void on_signal(int number)
{
	(void)number;
	mt_capture(&capture);
}

static void raise_with(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	cr_assert_eq(sigaction(SIGUSR1, &action, NULL), 0);
	cr_assert_eq(raise(SIGUSR1), 0);
}

Test(unwind_oracle, signal_handler)
{
	raise_with(0);
	expect_same(&capture, MT_UNWIND_COMPLETE, 5);
}

Test(unwind_oracle, signal_handler_on_a_stack_elsewhere)
{
	static char space[65536];
	stack_t other = { .ss_sp = space, .ss_size = sizeof(space) };

	cr_assert_eq(sigaltstack(&other, NULL), 0);
	raise_with(SA_ONSTACK);
	/* The interrupted frame is known from the signal's context; its callers' stack is not. */
	capture.flags = 0;
	capture.n_bytes = (uint32_t)(space + sizeof(space) - (char *)(uintptr_t)capture.regs[7]);
	memcpy(capture.bytes, (void *)(uintptr_t)capture.regs[7], capture.n_bytes);
	capture.above = 0;
	expect_same(&capture, MT_UNWIND_BAD_MEMORY, 2);
}

__attribute__((noinline)) static char *far_below(void)
{
	char space[49152];

	memset(space, 1, sizeof(space));
	__asm__ volatile("" : : "r"(space) : "memory");
	return (char *)((uintptr_t)__builtin_frame_address(0) - sizeof(space));
}

Test(unwind_oracle, signal_handler_on_a_stack_below)
{
	stack_t other = { .ss_sp = far_below(), .ss_size = 32768 };

	/* Captured from the handler's stack up to and including the interrupted one. */
	cr_assert_eq(sigaltstack(&other, NULL), 0);
	raise_with(SA_ONSTACK);
	other.ss_flags = SS_DISABLE;
	cr_assert_eq(sigaltstack(&other, NULL), 0);
	expect_same(&capture, MT_UNWIND_COMPLETE, 5);
}

static void on_throw(void *arg)
{
	int *calls = arg;
	struct mt_capture *const into[] = { &capture, &second, &third };

	if (*calls < 3)
		mt_capture(into[*calls]);
	++*calls;
}

Test(unwind_oracle, exception_in_flight)
{
	int calls = 0;

	mt_thrower(on_throw, &calls);
	cr_assert_eq(calls, 3);
	expect_same(&capture, MT_UNWIND_COMPLETE, 3);
	expect_same(&second, MT_UNWIND_COMPLETE, 3);
	expect_same(&third, MT_UNWIND_COMPLETE, 3);
}

__attribute__((noinline)) static void last_call(struct mt_capture *into)
{
	mt_capture(into);	/* a jump, with optimisation */
}

__attribute__((noinline)) static void tail(struct mt_capture *into)
{
	sink++;
	last_call(into);
}

Test(unwind_oracle, tail_calls)
{
	tail(&capture);
	sink++;
	expect_same(&capture, MT_UNWIND_COMPLETE, 2);
}

static void *in_thread(void *arg)
{
	mt_capture_prepare();
	nest(DEEP, arg);
	return NULL;
}

Test(unwind_oracle, thread)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, in_thread, &capture), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	expect_same(&capture, MT_UNWIND_COMPLETE, DEEP);
}

static void on_thread_end(void *arg)
{
	mt_capture(arg);
}

static void *ending_thread(void *arg)
{
	mt_capture_prepare();
	pthread_cleanup_push(on_thread_end, arg);
	pthread_exit(NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

Test(unwind_oracle, thread_exit_cleanup)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, ending_thread, &capture), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	expect_same(&capture, MT_UNWIND_COMPLETE, 3);
}

/*
 * Every budget cuts somewhere else: the frames must be those of the whole stack as far as they go,
 * and the end must say that the budget cut it, unless the last frames need no memory.
 */
Test(unwind_oracle, every_budget)
{
	static struct mt_frame whole[PCS_MAX];
	const struct mt_frame *frames;
	enum mt_unwind_end end;
	struct mt_stack stack;
	size_t n_whole;
	size_t n = 0;
	size_t i;

	nest(DEEP, &capture);
	mt_capture_stack(&capture, &stack);
	n_whole = mt_unwind(fixture.unwinder, &stack, &frames, &end);
	cr_assert_eq(end, MT_UNWIND_COMPLETE);
	cr_assert_lt(n_whole, PCS_MAX);
	memcpy(whole, frames, n_whole * sizeof(*frames));

	stack.above = stack.n_bytes;
	stack.flags = MT_STACK_CUT_BUDGET;
	for (stack.n_bytes = 0; stack.above; stack.n_bytes++, stack.above--) {
		n = mt_unwind(fixture.unwinder, &stack, &frames, &end);
		cr_assert_leq(n, n_whole);
		for (i = 0; i < n; i++)
			cr_assert_eq(frames[i].pc, whole[i].pc, "%u bytes", stack.n_bytes);
		cr_assert_eq(end, n == n_whole ? MT_UNWIND_COMPLETE : MT_UNWIND_TRUNCATED,
			     "%u bytes: %s", stack.n_bytes, mt_unwind_end_id(end));
	}
	cr_assert_eq(n, n_whole);
	stack.flags = MT_STACK_CUT_FAULT;
	stack.n_bytes = 64;
	mt_unwind(fixture.unwinder, &stack, &frames, &end);
	cr_assert_eq(end, MT_UNWIND_UNREADABLE);
}

/*
 * Every instruction: a program is single-stepped, and its state kept at each new pc: inside
 * prologues and epilogues, PLT entries, the dynamic linker's lazy binding, exception handling.
 */
#define STEP_BYTES 14336u
#define STEPS_KEPT 8000u
#define STEP_SEEN (1u << 16)
#define TRAP_FLAG 0x100

struct step {
	uint64_t regs[17];
	uint64_t above;
	uint32_t n_bytes;
	uint8_t bytes[STEP_BYTES];
};

static struct step *steps;
static volatile size_t n_steps;
static volatile bool stepping;
static uint64_t step_top;
static uint64_t seen[STEP_SEEN];

/* Register numbers of <sys/ucontext.h> in DWARF's order. */
static const int greg_of[] = {
	REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
	REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};

__attribute__((no_sanitize("address"))) static void on_trap(int number, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;
	const volatile uint64_t *from;
	struct step *step = &steps[n_steps];
	uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	uint64_t *slot = &seen[(pc * 0x9e3779b97f4a7c15u) >> 48];
	uint64_t left;
	size_t i;

	(void)number;
	(void)info;
	if (!stepping)
		context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (!stepping || *slot == pc || n_steps == STEPS_KEPT)
		return;
	*slot = pc;
	for (i = 0; i < MT_ARRAY_SIZE(greg_of); i++)
		step->regs[i] = (uint64_t)context->uc_mcontext.gregs[greg_of[i]];
	left = step_top - step->regs[7];
	step->n_bytes = left < STEP_BYTES ? (uint32_t)left : STEP_BYTES;
	step->above = left - step->n_bytes;
	from = (const volatile uint64_t *)(uintptr_t)step->regs[7];
	for (i = 0; i < step->n_bytes / 8; i++)
		memcpy(step->bytes + 8 * i, &(uint64_t){ from[i] }, 8);
	n_steps++;
}

static int plain_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void step_callback(void *arg)
{
	sink += *(int *)arg;
}

__attribute__((noinline)) static void workload(void)
{
	int numbers[] = { 3, 1, 2, 5, 4 };
	char text[64];
	void *block;
	int arg = 1;

	qsort(numbers, MT_ARRAY_SIZE(numbers), sizeof(numbers[0]), plain_compare);
	snprintf(text, sizeof(text), "%d %s %g", numbers[0], "text", 1.5);
	block = calloc(1, 4000);
	block = realloc(block, 8000);
	free(block);
	mt_thrower(step_callback, &arg);
	sink += (int)strtol(text, NULL, 10);
}

static void *stepped_thread(void *arg)
{
	static char space[65536];
	stack_t other = { .ss_sp = space, .ss_size = sizeof(space) };
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t before;

	(void)arg;
	mt_capture_prepare();
	mt_capture(&capture);
	step_top = capture.regs[7] + capture.n_bytes;
	sigaltstack(&other, &before);
	action.sa_sigaction = on_trap;
	sigaction(SIGTRAP, &action, NULL);
	stepping = true;
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 :
			 : "memory", "cc");
	workload();
	stepping = false;
	sink++;
	sigaltstack(&before, NULL);	/* a sanitizer's */
	return NULL;
}

static void view_step(const struct step *step, struct mt_stack *ret_stack)
{
	memset(ret_stack, 0, sizeof(*ret_stack));
	ret_stack->time = 1;
	ret_stack->flags = step->above ? MT_STACK_CUT_BUDGET : 0;
	ret_stack->above = step->above;
	ret_stack->n_regs = MT_ARRAY_SIZE(step->regs);
	memcpy(ret_stack->regs, step->regs, sizeof(step->regs));
	ret_stack->bytes = step->bytes;
	ret_stack->n_bytes = step->n_bytes;
}

Test(unwind_oracle, every_instruction)
{
	struct mt_unwind_code code;
	struct mt_stack stack;
	pthread_t thread;
	size_t compared;
	size_t skipped = 0;
	size_t i;

	steps = mmap(NULL, STEPS_KEPT * sizeof(*steps), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq(steps, MAP_FAILED);
	cr_assert_eq(pthread_create(&thread, NULL, stepped_thread, NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_gt(n_steps, 2000, "%zu steps", n_steps);

	for (i = 0; i < n_steps; i++) {
		view_step(&steps[i], &stack);
		/* The kernel steps instructions under somebody else's probe in its own page. */
		if (mt_capture_find(fixture.code, &stack, steps[i].regs[16], &code))
			compare(&stack, NULL);
		else
			skipped++;
	}
	compared = n_steps - skipped;
	/*
	 * While an exception switches stacks, the caller's frame is out of reach for all three;
	 * and a return probe of somebody else's puts an address in no file in a caller's place.
	 */
	cr_assert_gt(compared - fixture.ends[MT_UNWIND_NO_MODULE], 2000);
	cr_assert_gt(fixture.ends[MT_UNWIND_COMPLETE],
		     (compared - fixture.ends[MT_UNWIND_NO_MODULE]) * 98 / 100);
	for (i = 0; i < 2; i++) {
		cr_assert_eq(fixture.tally[i][MT_COMPARE_DIFFERENT], 0);
		cr_assert_gt(fixture.tally[i][MT_COMPARE_EQUAL] +
			     fixture.tally[i][MT_COMPARE_NO_CFI], compared * 99 / 100);
	}
	munmap(steps, STEPS_KEPT * sizeof(*steps));
}
