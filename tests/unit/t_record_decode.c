#include "record/decode.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/id_table.h"
#include "record/mmap_events.h"
#include "record/writer.h"
#include "report/reader.h"
#include "tests/unit/artifact_fixture.h"
#include "tests/unit/resident.h"

static char path[] = "/tmp/t_record_decode.XXXXXX";
static struct mt_writer *writer;
static struct mt_decoder *decoder;
static struct mt_reader *reader;

static void setup(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(mt_writer_open(fd, &fixture_header, &writer), 0);
	cr_assert_eq(mt_decoder_new(writer, &decoder), 0);
	cr_assert_eq(mt_decoder_start_process(decoder, 100, 10, "root"), 0);
}

static void teardown(void)
{
	mt_reader_free(reader);
	mt_decoder_free(decoder);
	mt_writer_free(writer);
	unlink(path);
}

TestSuite(decode, .init = setup, .fini = teardown);

/* The first block of a kind, after all that was decoded has been written. */
static const struct mt_block *written(enum mt_block_kind kind)
{
	const struct mt_trailer trailer = { .end_reason = "" };
	const struct mt_block *block;

	if (!reader) {
		cr_assert_eq(mt_decoder_flush(decoder, false), 0);
		cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
		cr_assert_eq(mt_reader_open(path, &reader), 0);
	}
	mt_reader_rewind(reader, MT_KIND_BIT(kind));
	return mt_reader_next(reader, &block) == 1 ? block : NULL;
}

static struct mt_ring_hdr hdr(uint32_t kind, uint32_t pid, uint32_t tid, uint64_t time)
{
	return (struct mt_ring_hdr){ .kind = kind, .pid = pid, .tid = tid, .time = time };
}

static void fork_process(uint32_t parent, uint32_t child, uint64_t time)
{
	struct mt_ring_fork rec = {
		.hdr = hdr(MT_RING_FORK, parent, parent, time), .child_pid = child,
		.child_tid = child, .comm = "child",
	};

	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec)), 0);
}

static void call(uint32_t pid, uint32_t tid, uint64_t time, uint64_t addr)
{
	struct mt_ring_alloc rec = {
		.hdr = hdr(MT_RING_MALLOC, pid, tid, time), .addr = addr, .size = 24,
	};

	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec)), 0);
}

Test(decode, every_kind_of_call_keeps_its_fields)
{
	struct mt_ring_realloc realloc_rec = {
		.alloc = { .hdr = hdr(MT_RING_REALLOC, 100, 100, 60), .addr = 0x2000, .size = 48 },
		.old_addr = 0x1000, .begin = 55,
	};
	struct mt_ring_aligned aligned = {
		.alloc = { .hdr = hdr(MT_RING_ALIGNED, 100, 100, 70), .addr = 0x3000, .size = 9 },
		.align = 64,
	};
	struct mt_ring_free free_rec = {
		.hdr = hdr(MT_RING_FREE, 100, 100, 80), .addr = 0x3000,
	};
	const struct mt_block *block;

	call(100, 100, 50, 0x1000);
	realloc_rec.alloc.hdr.stack = 5;
	cr_assert_eq(mt_decoder_event(decoder, &realloc_rec, sizeof(realloc_rec)), 0);
	cr_assert_eq(mt_decoder_event(decoder, &aligned, sizeof(aligned)), 0);
	cr_assert_eq(mt_decoder_event(decoder, &free_rec, sizeof(free_rec)), 0);

	block = written(MT_BLOCK_EVENTS);
	cr_assert_eq(block->n, 4u, "%u rows", block->n);
	cr_assert_eq(block->events[0].type, MT_EV_MALLOC);
	cr_assert_eq(block->events[0].addr, 0x1000);
	cr_assert_eq(block->events[0].size, 24);
	cr_assert_eq(block->events[0].begin, 50);
	cr_assert_eq(block->events[1].type, MT_EV_REALLOC);
	cr_assert_eq(block->events[1].old_addr, 0x1000);
	cr_assert_eq(block->events[1].begin, 55);
	cr_assert_eq(block->events[1].time, 60);
	cr_assert_eq(block->events[1].stack, 5);
	cr_assert_eq(block->events[2].align, 64);
	cr_assert_eq(block->events[3].type, MT_EV_FREE);
	cr_assert_eq(block->events[3].size, 0);
	cr_assert_eq(mt_decoder_malformed(decoder), 0);
}

Test(decode, a_reused_pid_is_another_process)
{
	const struct mt_block *block;

	fork_process(100, 200, 20);
	call(200, 200, 25, 1);
	fork_process(100, 200, 40);
	call(200, 200, 45, 2);

	block = written(MT_BLOCK_EVENTS);
	cr_assert_eq(block->n, 2u, "%u rows", block->n);
	cr_assert_eq(block->events[0].thread, 1);
	cr_assert_eq(block->events[1].thread, 2);
	block = written(MT_BLOCK_LIFECYCLE);
	cr_assert_eq(block->n, 6u, "%u rows", block->n);
	cr_assert_eq(block->lifecycle[2].type, MT_LC_FORK);
	cr_assert_eq(block->lifecycle[2].process, 1);
	cr_assert_eq(block->lifecycle[2].parent, 0);
	cr_assert_eq(block->lifecycle[2].pid, 200);
	cr_assert_eq(block->lifecycle[4].process, 2);
}

Test(decode, a_process_with_another_number_of_its_own)
{
	struct mt_ring_fork child = {
		.hdr = hdr(MT_RING_FORK, 100, 100, 20), .child_pid = 200, .child_tid = 200,
		.own_pid = 1, .comm = "sh",
	};
	struct mt_ring_exec same = {
		.hdr = hdr(MT_RING_EXEC, 100, 100, 30), .old_tid = 100, .own_pid = 100,
	};
	struct mt_ring_exec other = {
		.hdr = hdr(MT_RING_EXEC, 200, 200, 40), .old_tid = 200, .own_pid = 1,
	};
	const struct mt_block *block;

	cr_assert_eq(mt_decoder_event(decoder, &child, sizeof(child)), 0);
	cr_assert_eq(mt_decoder_event(decoder, &same, sizeof(same)), 0);
	cr_assert_eq(mt_decoder_event(decoder, &other, sizeof(other)), 0);
	block = written(MT_BLOCK_LIFECYCLE);
	/* Two of the first process, then fork, number, thread, exec, exec, number. */
	cr_assert_eq(block->n, 8u, "%u rows", block->n);
	cr_expect_eq(block->lifecycle[3].type, MT_LC_OWN_PID);
	cr_expect_eq(block->lifecycle[3].process, 1);
	cr_expect_eq(block->lifecycle[3].own_pid, 1);
	cr_expect_eq(block->lifecycle[5].type, MT_LC_EXEC);
	cr_expect_eq(block->lifecycle[6].type, MT_LC_EXEC);
	cr_expect_eq(block->lifecycle[7].type, MT_LC_OWN_PID);
	cr_expect_eq(block->lifecycle[7].process, 1);
}

Test(decode, mappings_find_the_process_of_their_time_even_after_its_end)
{
	struct mt_ring_exit end = { .hdr = hdr(MT_RING_EXIT, 200, 200, 30) };
	struct mt_mmap_record first = {
		.time = 22, .pid = 200, .start = 1, .end = 2, .path = "/a"
	};
	struct mt_mmap_record second = { .time = 41, .pid = 200, .exec_clear = 1, .path = "" };
	struct mt_mmap_record orphan = { .time = 41, .pid = 999, .path = "/c" };
	struct mt_mmap_record early = { .time = 3, .pid = 999, .path = "/d" };
	const struct mt_block *block;

	cr_assert_eq(mt_decoder_mapping(decoder, &second), 0);
	cr_assert_eq(mt_decoder_mapping(decoder, &orphan), 0);
	mt_decoder_begin(decoder, 41);
	cr_assert_eq(mt_decoder_mapping(decoder, &early), 0);
	cr_assert_eq(mt_decoder_mapping(decoder, &first), 0);
	fork_process(100, 200, 20);
	cr_assert_eq(mt_decoder_event(decoder, &end, sizeof(end)), 0);
	fork_process(100, 200, 40);

	block = written(MT_BLOCK_MAPPINGS);
	cr_assert_eq(block->n, 2u, "%u rows", block->n);
	cr_assert_eq(block->mappings[0].process, 1);
	cr_assert_str_eq(block->mappings[0].path, "/a");
	cr_assert_eq(block->mappings[1].process, 2);
	cr_assert_eq(block->mappings[1].type, MT_MAP_EXEC_CLEAR);
	cr_assert_eq(mt_decoder_orphan_mappings(decoder), 1);
}

/* Mappings can be ahead of the records that introduce their processes: by what is in the ring. */
Test(decode, mappings_wait_for_what_may_introduce_their_process)
{
	struct mt_mmap_record early = {
		.time = 22, .pid = 200, .start = 1, .end = 2, .path = "/early"
	};
	struct mt_mmap_record orphan = { .time = 23, .pid = 999, .path = "/nobody's" };
	struct mt_mmap_record known = { .time = 21, .pid = 100, .path = "/known" };
	struct mt_mmap_record later = { .time = 24, .pid = 300, .path = "/later" };
	const struct mt_block *block;
	unsigned int i;

	mt_decoder_progress(decoder, 0, 1000);
	cr_assert_eq(mt_decoder_mapping(decoder, &orphan), 0);
	cr_assert_eq(mt_decoder_mapping(decoder, &known), 0);
	cr_assert_eq(mt_decoder_mapping(decoder, &early), 0);
	for (i = 0; i < 10; i++) {
		mt_decoder_progress(decoder, 100 * i, 2000);
		cr_assert_eq(mt_decoder_flush(decoder, true), 0);
		cr_assert_eq(mt_decoder_orphan_mappings(decoder), 0);
	}
	fork_process(100, 200, 20);
	mt_decoder_progress(decoder, 1000, 2000);
	cr_assert_eq(mt_decoder_mapping(decoder, &later), 0);
	cr_assert_eq(mt_decoder_flush(decoder, true), 0);
	cr_assert_eq(mt_decoder_orphan_mappings(decoder), 1);
	fork_process(100, 300, 20);
	cr_assert_eq(mt_decoder_flush(decoder, true), 0);
	cr_assert_eq(mt_decoder_orphan_mappings(decoder), 1);

	block = written(MT_BLOCK_MAPPINGS);
	cr_assert_eq(block->n, 1u, "%u rows", block->n);
	cr_assert_eq(block->mappings[0].process, 0);
	cr_assert_str_eq(block->mappings[0].path, "/known");
	cr_assert_eq(mt_reader_next(reader, &block), 1);
	cr_assert_eq(block->n, 1u, "%u rows", block->n);
	cr_assert_eq(block->mappings[0].process, 1);
	cr_assert_str_eq(block->mappings[0].path, "/early");
	cr_assert_eq(mt_reader_next(reader, &block), 1);
	cr_assert_eq(block->n, 1u, "%u rows", block->n);
	cr_assert_eq(block->mappings[0].process, 2);
	cr_assert_str_eq(block->mappings[0].path, "/later");
}

Test(decode, a_thread_whose_record_was_lost_is_introduced_at_its_first_call)
{
	const struct mt_block *block;

	call(100, 101, 50, 1);
	call(300, 300, 51, 2);
	block = written(MT_BLOCK_LIFECYCLE);
	cr_assert_eq(block->n, 5u, "%u rows", block->n);
	cr_assert_eq(block->lifecycle[2].type, MT_LC_THREAD);
	cr_assert_eq(block->lifecycle[2].tid, 101);
	cr_assert_eq(block->lifecycle[2].process, 0);
	cr_assert_eq(block->lifecycle[3].type, MT_LC_START);
	cr_assert_eq(block->lifecycle[3].pid, 300);
	block = written(MT_BLOCK_EVENTS);
	cr_assert_eq(block->events[0].thread, 1);
	cr_assert_eq(block->events[1].thread, 2);
}

Test(decode, a_thread_that_calls_exec_takes_the_leaders_id)
{
	struct mt_ring_fork thread = {
		.hdr = hdr(MT_RING_THREAD, 100, 100, 20), .child_pid = 100, .child_tid = 105,
		.comm = "worker",
	};
	struct mt_ring_exec exec = {
		.hdr = hdr(MT_RING_EXEC, 100, 100, 30), .old_tid = 105, .comm = "new",
		.path = "/bin/new",
	};
	const struct mt_block *block;

	cr_assert_eq(mt_decoder_event(decoder, &thread, sizeof(thread)), 0);
	call(100, 105, 25, 1);
	cr_assert_eq(mt_decoder_event(decoder, &exec, sizeof(exec)), 0);
	call(100, 100, 35, 2);
	block = written(MT_BLOCK_EVENTS);
	cr_assert_eq(block->events[0].thread, 1);
	cr_assert_eq(block->events[1].thread, 2);
	block = written(MT_BLOCK_LIFECYCLE);
	cr_assert_eq(block->lifecycle[block->n - 1].type, MT_LC_EXEC);
	cr_assert_str_eq(block->lifecycle[block->n - 1].path, "/bin/new");
}

Test(decode, stacks_keep_their_bytes)
{
	struct {
		struct mt_ring_stack head;
		uint8_t bytes[16];
	} rec = {
		.head = { .id = 9, .pid = 100, .tid = 100, .time = 50, .identity = 77, .flags = 1,
			  .above = 4096, .n_bytes = 16, .n_fp = 2, .fp = { 11, 12 },
			  .regs = { [7] = 0x7ffc0000, [16] = 0x401000 } },
		.bytes = "0123456789abcde",
	};
	const struct mt_block *block;

	cr_assert(mt_decoder_knows_thread(decoder, &rec.head));
	cr_assert_eq(mt_decoder_stack(decoder, &rec, sizeof(rec)), 0);
	cr_assert_eq(mt_decoder_write_stacks(decoder), 0);
	rec.head.n_bytes = 17;
	cr_assert_eq(mt_decoder_stack(decoder, &rec, sizeof(rec)), 0);
	cr_assert_eq(mt_decoder_malformed(decoder), 1);
	rec.head.tid = 4711;
	cr_assert_not(mt_decoder_knows_thread(decoder, &rec.head));

	block = written(MT_BLOCK_STACKS);
	cr_assert_eq(block->n, 1, "%u rows", block->n);
	cr_assert_eq(block->stacks[0].id, 9);
	cr_assert_eq(block->stacks[0].n_regs, 17);
	cr_assert_eq(block->stacks[0].regs[16], 0x401000);
	cr_assert_eq(block->stacks[0].n_bytes, 16);
	cr_assert_arr_eq(block->stacks[0].bytes, rec.bytes, 16);
	cr_assert_eq(block->stacks[0].fp[1], 12);
	cr_assert_eq(block->stacks[0].above, 4096);
}

Test(decode, records_of_the_wrong_size_are_counted_not_read)
{
	struct mt_ring_alloc rec = { .hdr = hdr(MT_RING_REALLOC, 100, 100, 50) };

	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec)), 0);
	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec.hdr)), 0);
	cr_assert_eq(mt_decoder_event(decoder, &rec, 3), 0);
	rec.hdr.kind = 250;
	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec)), 0);
	cr_assert_eq(mt_decoder_malformed(decoder), 4);
	cr_assert_null(written(MT_BLOCK_EVENTS));
}

static void end(uint32_t kind, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct mt_ring_exit rec = { .hdr = hdr(kind, pid, tid, time) };

	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec)), 0);
}

static void start_thread(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct mt_ring_fork rec = {
		.hdr = hdr(MT_RING_THREAD, pid, pid, time), .child_pid = pid, .child_tid = tid,
	};

	cr_assert_eq(mt_decoder_event(decoder, &rec, sizeof(rec)), 0);
}

/* Also when its last record is late: it must not be taken for another process. */
Test(decode, what_has_ended_is_forgotten)
{
	const struct mt_block *block;

	fork_process(100, 200, 20);
	call(200, 200, 25, 1);
	end(MT_RING_THREAD_EXIT, 200, 200, 30);
	end(MT_RING_EXIT, 200, 200, 31);
	cr_assert_eq(mt_decoder_held(decoder), 4);
	mt_decoder_age(decoder);
	cr_assert_eq(mt_decoder_held(decoder), 4);
	mt_decoder_age(decoder);
	cr_assert_eq(mt_decoder_held(decoder), 2);
	end(MT_RING_THREAD_EXIT, 200, 201, 32);
	end(MT_RING_EXIT, 200, 200, 33);
	end(MT_RING_THREAD_EXIT, 100, 101, 34);
	cr_assert_eq(mt_decoder_processes(decoder), 2);
	cr_assert_eq(mt_decoder_threads(decoder), 2);

	fork_process(100, 200, 40);
	call(200, 200, 45, 2);
	block = written(MT_BLOCK_EVENTS);
	cr_assert_eq(block->events[0].thread, 1);
	cr_assert_eq(block->events[1].thread, 2);
	block = written(MT_BLOCK_LIFECYCLE);
	cr_assert_eq(block->n, 8u, "%u rows", block->n);
}

/* Three million processes with a thread more each, whose ids come again. */
Test(decode, memory_goes_with_those_that_live, .timeout = 120)
{
	size_t before = 0, after;
	uint32_t i, pid = 1000;

	for (i = 1; i <= 3000000; i++) {
		fork_process(100, pid, i * 10ull);
		start_thread(pid, pid + 1, i * 10ull + 1);
		call(pid, pid + 1, i * 10ull + 2, i);
		end(MT_RING_THREAD_EXIT, pid, pid + 1, i * 10ull + 3);
		end(MT_RING_THREAD_EXIT, pid, pid, i * 10ull + 4);
		end(MT_RING_EXIT, pid, pid, i * 10ull + 5);
		pid = pid < 4000000 ? pid + 2 : 1000;
		if (i % 1000)
			continue;
		cr_assert_eq(mt_decoder_write_events(decoder), 0);
		mt_decoder_age(decoder);
		cr_assert_leq(mt_decoder_held(decoder), 2 + 2 * 3000);
		if (i == 100000)
			before = resident_bytes();
	}
	after = resident_bytes();
	cr_assert_eq(mt_decoder_processes(decoder), 3000001);
	cr_assert_eq(mt_decoder_threads(decoder), 6000001);
	/* The file's index grows: it is bounded elsewhere. */
	cr_assert_leq(after, before + (512 << 10), "%zu, then %zu", before, after);
}

/* More threads at once than there are places for: what they do is counted. */
Test(decode, what_finds_no_place_is_counted, .timeout = 60)
{
	struct mt_ring_stack stack = { .pid = 100, .tid = 3000000, .time = 70 };
	const struct mt_block *block;
	uint32_t i;

	for (i = 1; i < MT_ID_SLOTS_MAX; i++)
		start_thread(100, 100 + i, 50);
	cr_assert_eq(mt_decoder_no_place(decoder, MT_NO_PLACE_LIFECYCLE), 0);
	start_thread(100, 3000000, 60);
	call(100, 3000000, 61, 1);
	call(100, 3000000, 62, 1);
	call(100, 100 + i - 1, 63, 2);
	cr_assert_eq(mt_decoder_stack(decoder, &stack, sizeof(stack)), 0);
	cr_assert_eq(mt_decoder_no_place(decoder, MT_NO_PLACE_LIFECYCLE), 1);
	cr_assert_eq(mt_decoder_no_place(decoder, MT_NO_PLACE_EVENT), 2);
	cr_assert_eq(mt_decoder_no_place(decoder, MT_NO_PLACE_STACK), 1);
	block = written(MT_BLOCK_EVENTS);
	cr_assert_eq(block->n, 1u, "%u rows", block->n);
	cr_assert_eq(block->events[0].thread, i - 1);
}
