/*
 * tests/unit/artifact_fixture.h - rows with odd values, their comparison, and small artifacts.
 */
#ifndef MT_ARTIFACT_FIXTURE_H
#define MT_ARTIFACT_FIXTURE_H

#include "common/artifact.h"

#include <criterion/criterion.h>

static const char *const fixture_args[] = { "prog", "", "--x=\xc3\xa4", "bad\xff utf8" };

static const struct mt_header fixture_header = {
	.format_version = MT_FORMAT_VERSION,
	.min_reader_version = 1,
	.producer = "t_artifact 0",
	.arch = "x86_64",
	.byte_order = "little",
	.kernel = "6.1.0",
	.hostname = "",
	.clock = "monotonic",
	.start_time = 1,
	.start_realtime = UINT64_MAX,
	.page_size = 4096,
	.code_mask = UINT64_MAX,
	.trampoline = 0x7fffffffe000,
	.stack_size = 32768,
	.ring_size = 1ull << 40,
	.stack_ring_size = 0,
	.watch = "tracepoint",
	.attach = "session",
	.mapping_source = "perf",
	.cwd = "/a/b c",
	.n_args = MT_ARRAY_SIZE(fixture_args),
	.args = (const char **)fixture_args,
};

static const struct mt_lifecycle fixture_lifecycle[] = {
	{ .time = 5, .type = MT_LC_START, .process = 0, .pid = 100, .name = "sh", .path = "" },
	{ .time = 5, .type = MT_LC_THREAD, .process = 0, .thread = 0, .tid = 100, .name = "sh",
	  .path = "" },
	{ .time = 3, .type = MT_LC_FORK, .process = UINT32_MAX, .parent = 0, .pid = 4194304,
	  .shares_memory = true, .name = "", .path = "" },
	{ .time = UINT64_MAX, .type = MT_LC_EXEC, .process = 1, .name = "\xff\xfe",
	  .path = "/bin/\xf0\x9f\x98\x80" },
	{ .time = 0, .type = MT_LC_NAME, .process = 1, .thread = UINT32_MAX, .name = "",
	  .path = "" },
	{ .time = 9, .type = MT_LC_THREAD_EXIT, .process = 1, .thread = 7, .name = "", .path = "" },
	{ .time = 9, .type = MT_LC_OWN_PID, .process = 1, .own_pid = 7, .name = "", .path = "" },
	{ .time = 10, .type = MT_LC_EXIT, .process = 1, .status = INT32_MIN, .name = "",
	  .path = "" },
};

static const uint8_t fixture_bytes[] = { 0, 1, 2, 255, 0, 0xc0 };

static const struct mt_stack fixture_stacks[] = {
	{ .id = 1, .process = 0, .thread = 3, .time = 77, .identity = UINT64_MAX, .flags = 3,
	  .above = 1ull << 33, .n_regs = 17, .regs = { UINT64_MAX, 1, 0, [16] = 0x401000 },
	  .bytes = fixture_bytes, .n_bytes = sizeof(fixture_bytes), .n_fp = 2,
	  .fp = { 0xffffffff81000000, 4 } },
	{ .id = UINT32_MAX, .process = 9, .thread = UINT32_MAX, .time = 12, .identity = 0,
	  .n_regs = MT_REGS_MAX, .regs = { [32] = 5 }, .bytes = fixture_bytes, .n_bytes = 0,
	  .n_fp = MT_FP_CHAIN_MAX, .fp = { [126] = UINT64_MAX } },
	{ .id = 2, .bytes = fixture_bytes, .n_bytes = 1 },
};

static const struct mt_event fixture_events[] = {
	{ .time = 1000, .begin = 1000, .addr = 0x5000, .size = 24, .stack = 1,
	  .type = MT_EV_MALLOC },
	{ .time = 900, .begin = 900, .addr = 0x10, .type = MT_EV_FREE, .thread = UINT32_MAX },
	{ .time = 2000, .begin = 1500, .addr = 0x5000, .old_addr = 0x5000, .size = UINT64_MAX,
	  .stack = UINT32_MAX, .type = MT_EV_REALLOC },
	{ .time = UINT64_MAX, .begin = 0, .addr = UINT64_MAX, .old_addr = 1, .size = 0,
	  .type = MT_EV_REALLOC },
	{ .time = 0, .begin = UINT64_MAX, .addr = 0, .old_addr = 0, .size = 128,
	  .type = MT_EV_REALLOC },
	{ .time = 1ull << 63, .begin = 1ull << 63, .addr = 1ull << 63, .align = UINT64_MAX,
	  .size = 65535, .type = MT_EV_ALIGNED },
	{ .time = 5, .begin = 5, .addr = 32, .size = 256, .stack = 200, .type = MT_EV_CALLOC },
	{ .time = 5, .begin = 5, .addr = 4096, .size = 1u << 31, .stack = 7, .type = MT_EV_MMAP,
	  .prot = 7, .flags = UINT32_MAX },
	{ .time = 6, .begin = 6, .addr = 4096, .size = 65536, .stack = 257,
	  .type = MT_EV_MUNMAP },
	{ .time = 9, .begin = 7, .addr = 8192, .old_addr = UINT64_MAX, .size = 9, .stack = 3,
	  .type = MT_EV_MREMAP, .old_size = UINT64_MAX },
	{ .time = 10, .begin = 10, .addr = 12345, .size = 127, .stack = 128, .type = MT_EV_BRK,
	  .old_size = 126 },
};

static const struct mt_mapping fixture_mappings[] = {
	{ .time = 8, .type = MT_MAP_EXEC_CLEAR, .process = 3, .path = "" },
	{ .time = 8, .type = MT_MAP_MAP, .process = 3, .start = 0x400000, .end = 0x401000,
	  .offset = 0x1000, .dev_major = 259, .dev_minor = UINT32_MAX, .ino = UINT64_MAX,
	  .generation = 17, .path = "/usr/lib/\xe9.so (deleted)" },
	{ .time = 2, .type = MT_MAP_UNMAP, .process = 0, .start = 0, .end = UINT64_MAX,
	  .path = "" },
	{ .time = UINT64_MAX, .type = MT_MAP_MAP, .process = 1, .start = UINT64_MAX - 1,
	  .end = UINT64_MAX, .path = "" },
};

static const struct mt_file_note fixture_files[] = {
	{ .dev_major = UINT32_MAX, .dev_minor = 3, .ino = UINT64_MAX, .generation = 7,
	  .size = 1ull << 40, .mtime = UINT64_MAX, .build_id = fixture_bytes,
	  .n_build_id = sizeof(fixture_bytes), .path = "/lib/\xff.so" },
	{ .build_id = fixture_bytes, .path = "[vdso]" },
};

static const struct mt_file_note fixture_rewritten[] = {
	{ .since = UINT64_MAX, .dev_major = 8, .ino = 1, .size = 5, .build_id = fixture_bytes,
	  .n_build_id = sizeof(fixture_bytes), .path = "/lib/a.so" },
	{ .since = 1, .build_id = fixture_bytes, .path = "" },
};

static const char *const fixture_functions[] = { "malloc", "free", "_Znwm" };

static const struct mt_coverage_row fixture_coverage[] = {
	{ .type = MT_COVERAGE_SOURCE, .id = 1, .kind = "glibc", .path = "/lib/libc.so.6",
	  .dev_major = 8, .dev_minor = UINT32_MAX, .ino = UINT64_MAX, .n_functions = 2,
	  .functions = (const char **)fixture_functions, .function = "", .reason = "" },
	{ .type = MT_COVERAGE_GAP, .kind = "", .path = "/bin/\xff", .ino = 3, .function = "f",
	  .reason = "stripped" },
	{ .type = MT_COVERAGE_EVENTS, .id = 1, .events = UINT64_MAX, .kind = "", .path = "",
	  .function = "", .reason = "" },
	{ .type = MT_COVERAGE_SOURCE, .id = 2, .kind = "user", .path = "", .function = "",
	  .reason = "" },
};

static const struct mt_mark fixture_marks[] = {
	{ .type = MT_MARK_DISABLE, .time = 5, .name = "" },
	{ .type = MT_MARK_NAME, .time = UINT64_MAX, .name = "\xff" },
	{ .type = MT_MARK_NAME, .time = 1, .name = "a b" },
	{ .type = MT_MARK_ENABLE, .time = 1, .name = "" },
};

static const struct mt_loss fixture_loss[] = {
	{ .source = "events", .cause = "ring_full", .count = UINT64_MAX, .first = 1, .last = 2 },
	{ .source = "", .cause = "", .count = 1 },
};

static const struct mt_checkpoint fixture_checkpoint = {
	.time = 1, .events = 11, .stacks = 3, .max_stamp = UINT64_MAX, .max_lag = 100, .lost = 4,
};

static inline void check_lifecycle(const struct mt_lifecycle *a, const struct mt_lifecycle *b)
{
	cr_assert_eq(a->time, b->time);
	cr_assert_eq(a->type, b->type);
	cr_assert_eq(a->process, b->process);
	cr_assert_eq(a->parent, b->parent);
	cr_assert_eq(a->pid, b->pid);
	cr_assert_eq(a->thread, b->thread);
	cr_assert_eq(a->tid, b->tid);
	cr_assert_eq(a->shares_memory, b->shares_memory);
	cr_assert_eq(a->status, b->status);
	cr_assert_str_eq(a->name, b->name);
	cr_assert_str_eq(a->path, b->path);
}

static inline void check_stack(const struct mt_stack *a, const struct mt_stack *b)
{
	cr_assert_eq(a->id, b->id);
	cr_assert_eq(a->process, b->process);
	cr_assert_eq(a->thread, b->thread);
	cr_assert_eq(a->time, b->time);
	cr_assert_eq(a->identity, b->identity);
	cr_assert_eq(a->flags, b->flags);
	cr_assert_eq(a->above, b->above);
	cr_assert_eq(a->n_regs, b->n_regs);
	cr_assert_eq(memcmp(a->regs, b->regs, sizeof(a->regs)), 0);
	cr_assert_eq(a->n_bytes, b->n_bytes);
	cr_assert(!a->n_bytes || !memcmp(a->bytes, b->bytes, a->n_bytes));
	cr_assert_eq(a->n_fp, b->n_fp);
	cr_assert_eq(memcmp(a->fp, b->fp, sizeof(a->fp)), 0);
}

static inline void check_event(const struct mt_event *a, const struct mt_event *b)
{
	cr_assert_eq(a->time, b->time);
	cr_assert_eq(a->begin, b->begin);
	cr_assert_eq(a->addr, b->addr);
	cr_assert_eq(a->old_addr, b->old_addr);
	cr_assert_eq(a->size, b->size);
	cr_assert_eq(a->align, b->align);
	cr_assert_eq(a->thread, b->thread);
	cr_assert_eq(a->stack, b->stack);
	cr_assert_eq(a->type, b->type);
}

static inline void check_mapping(const struct mt_mapping *a, const struct mt_mapping *b)
{
	cr_assert_eq(a->time, b->time);
	cr_assert_eq(a->type, b->type);
	cr_assert_eq(a->process, b->process);
	cr_assert_eq(a->start, b->start);
	cr_assert_eq(a->end, b->end);
	cr_assert_eq(a->offset, b->offset);
	cr_assert_eq(a->dev_major, b->dev_major);
	cr_assert_eq(a->dev_minor, b->dev_minor);
	cr_assert_eq(a->ino, b->ino);
	cr_assert_eq(a->generation, b->generation);
	cr_assert_str_eq(a->path, b->path);
}

static inline void check_file_note(const struct mt_file_note *a, const struct mt_file_note *b)
{
	cr_assert_eq(a->since, b->since);
	cr_assert_eq(a->dev_major, b->dev_major);
	cr_assert_eq(a->dev_minor, b->dev_minor);
	cr_assert_eq(a->ino, b->ino);
	cr_assert_eq(a->generation, b->generation);
	cr_assert_eq(a->size, b->size);
	cr_assert_eq(a->mtime, b->mtime);
	cr_assert_eq(a->n_build_id, b->n_build_id);
	cr_assert_arr_eq(a->build_id, b->build_id, b->n_build_id);
	cr_assert_str_eq(a->path, b->path);
}

static inline void check_coverage(const struct mt_coverage_row *a, const struct mt_coverage_row *b)
{
	uint32_t i;

	cr_assert_eq(a->type, b->type);
	cr_assert_eq(a->id, b->id);
	cr_assert_str_eq(a->kind, b->kind);
	cr_assert_str_eq(a->path, b->path);
	cr_assert_eq(a->dev_major, b->dev_major);
	cr_assert_eq(a->dev_minor, b->dev_minor);
	cr_assert_eq(a->ino, b->ino);
	cr_assert_eq(a->n_functions, b->n_functions);
	for (i = 0; i < a->n_functions; i++)
		cr_assert_str_eq(a->functions[i], b->functions[i]);
	cr_assert_str_eq(a->function, b->function);
	cr_assert_str_eq(a->reason, b->reason);
	cr_assert_eq(a->events, b->events);
}

static inline void check_mark(const struct mt_mark *a, const struct mt_mark *b)
{
	cr_assert_eq(a->time, b->time);
	cr_assert_eq(a->type, b->type);
	cr_assert_str_eq(a->name, b->name);
}

static inline void check_loss(const struct mt_loss *a, const struct mt_loss *b)
{
	cr_assert_str_eq(a->source, b->source);
	cr_assert_str_eq(a->cause, b->cause);
	cr_assert_eq(a->count, b->count);
	cr_assert_eq(a->first, b->first);
	cr_assert_eq(a->last, b->last);
}

static inline void check_header(const struct mt_header *a, const struct mt_header *b)
{
	uint32_t i;

	cr_assert_eq(a->format_version, b->format_version);
	cr_assert_eq(a->sample_bytes, b->sample_bytes);
	cr_assert_eq(a->min_reader_version, b->min_reader_version);
	cr_assert_str_eq(a->producer, b->producer);
	cr_assert_str_eq(a->arch, b->arch);
	cr_assert_str_eq(a->byte_order, b->byte_order);
	cr_assert_str_eq(a->kernel, b->kernel);
	cr_assert_str_eq(a->hostname, b->hostname);
	cr_assert_str_eq(a->clock, b->clock);
	cr_assert_eq(a->start_time, b->start_time);
	cr_assert_eq(a->start_realtime, b->start_realtime);
	cr_assert_eq(a->page_size, b->page_size);
	cr_assert_eq(a->code_mask, b->code_mask);
	cr_assert_eq(a->trampoline, b->trampoline);
	cr_assert_eq(a->stack_size, b->stack_size);
	cr_assert_eq(a->ring_size, b->ring_size);
	cr_assert_eq(a->stack_ring_size, b->stack_ring_size);
	cr_assert_str_eq(a->watch, b->watch);
	cr_assert_str_eq(a->attach, b->attach);
	cr_assert_str_eq(a->mapping_source, b->mapping_source);
	cr_assert_str_eq(a->cwd, b->cwd);
	cr_assert_eq(a->n_args, b->n_args);
	for (i = 0; i < a->n_args; i++)
		cr_assert_str_eq(a->args[i], b->args[i]);
}

#endif
