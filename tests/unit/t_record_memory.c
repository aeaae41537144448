/*
 * mt-record's memory with every table at its ceiling is bounded.
 *
 * Tables, with what one element takes and how many there can be; those marked * are added by their
 * size, the others are filled here and what is resident then is looked at:
 *
 *   id_table          threads 24 bytes * 262144, processes 24 * 196608, 2 * 256 KiB of buckets
 *   decode            events 64 * 32768, counts 8 * 65536, lifecycle and stacks about 200 KiB
 *   mapping_queue     rows 80 * 16384 and 2 MiB of paths
 *   file_notes        2 * (rows and build-ids 136 * 2048, and 512 KiB of paths)
 *   rewrites          2.5 MiB in all
 *   witness           2 * (rows 32 * 32768, 64 KiB of buckets)
 *   coverage          counts 2 * 8 * 65536; sources and gaps each 80 * 4096 and 1 MiB of texts
 *   marks             rows 24 * 8192 and 512 KiB of names
 *   regained          rows 72 * 8192 and 1 MiB of paths
 *   stopped           24 for each process that stands still, as many as are tracked; stop_table 512
 *                     KiB (shared with the guardian)
 *   writer            encoder, contents, a compressor for all; frame_file's index 7 * 1048576
 * * path_learner      rows 24 * 131072, offers 65584 * 32, code_layout 512 KiB, remote_memory 1 MiB
 * * attach_worker     files that are probed 20 * 65536
 * * attach, mmap_events  descriptors 4 * MT_DESCRIPTORS_MAX
 * * sampled_blocks    address spaces 4 for each tracked process, twice to sort them; batches
 * * libbpf, libc, threads' stacks and everything that is small
 *   elf_image         what is held of a large file while it is looked at, with elf_names
 * *                   the same of another file at the same time, for its build-id
 *
 * Not there with full tables: what adopting a tree (record/adopt) and finding a command's files
 * (record/closure) take is given back before anything is recorded. Descriptors, executed,
 * exec_answer and what walks processes keep nothing. Kernel maps and the rings are not counted.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/coverage.h"
#include "record/decode.h"
#include "record/descriptors.h"
#include "record/elf_image.h"
#include "record/file_notes.h"
#include "record/id_table.h"
#include "record/marks.h"
#include "record/path_learner.h"
#include "record/process_state.h"
#include "record/programs.h"
#include "record/recorder.h"
#include "record/regained.h"
#include "record/stop_table.h"
#include "record/stopped.h"
#include "record/witness.h"
#include "record/writer.h"
#include "tests/unit/artifact_fixture.h"
#include "tests/unit/large_elf.h"
#include "tests/unit/resident.h"

#define MOST ((size_t)64 << 20)
#define TRACKED (1u << 17)	/* processes, by bpf/maps.bpf.h */
#define PROBED (20u << 16)
#define DESCRIPTORS ((size_t)MT_DESCRIPTORS_MAX * sizeof(int))
#define SPACES (2u * TRACKED * sizeof(uint32_t) + 4096 * (sizeof(struct mt_block_key) + 8))
/* Measured: 1.9 MB of libbpf's and libc's, and less than 1 MB of the rest. */
#define SMALL ((size_t)3 << 20)
#define LONG_PATH 255

/*
 * Stand for the loaded programs, and for /proc. The processes are gone when they would be told to
 * go on: there are others that have their numbers.
 */
static bool gone;

uint64_t mt_programs_process_flags(const struct mt_programs *programs, int pid)
{
	(void)programs;
	return gone ? 0 : (uint64_t)pid << MT_PROCESS_SPACE_SHIFT;
}

int mt_process_look(int pid, char *ret_state, uint64_t *ret_start)
{
	if (gone)
		return -ESRCH;
	*ret_state = 'T';
	*ret_start = (uint64_t)pid;
	return 0;
}

void mt_programs_each_process(const struct mt_programs *programs, mt_process_fn fn, void *arg)
{
	(void)programs;
	(void)fn;
	(void)arg;
}

static struct mt_stop_table stop_table;
static struct mt_writer *writer;
static struct mt_decoder *decoder;
static struct mt_coverage *coverage;
static char path[LONG_PATH + 1];

static uint64_t noise(void)
{
	static uint64_t state = 1;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A path of this many bytes, its NUL included, that is like no other. */
static const char *new_path(size_t size)
{
	static uint32_t n;

	memset(path, 'p', sizeof(path));
	path[size - 1] = '\0';
	snprintf(path, 10, "/%08x", n++);
	path[9] = 'p';
	return path;
}

static void fill_ids(void)
{
	uint32_t i, most = MT_ID_PROCESSES_MAX + MT_ID_SLOTS_MAX;

	for (i = 1; i <= MT_ID_PROCESSES_MAX; i++)
		cr_assert_eq(mt_decoder_start_process(decoder, i, i, "process"), 0);
	/* Each has one thread already. */
	for (; i <= MT_ID_SLOTS_MAX; i++)
		cr_assert_eq(mt_decoder_start_thread(decoder, 1, i, i, "thread"), 0);
	cr_assert_eq(mt_decoder_held(decoder), most);
	cr_assert_neq(mt_decoder_start_thread(decoder, 1, i, i, "thread"), 0);
}

/* Those that nothing has introduced wait. */
static void fill_mappings(void)
{
	struct mt_mmap_record record = { .time = 1, .pid = 4000000, .start = 1, .end = 2 };
	uint32_t i;

	for (i = 0; i < 16384; i++) {
		/* With the mark that lies before it, one row's share of the paths. */
		record.path = new_path(128 - sizeof(uint64_t));
		cr_assert_eq(mt_decoder_mapping(decoder, &record), 0);
	}
	cr_assert_eq(mt_decoder_orphan_mappings(decoder), 0);
}

static void fill_decoder(void)
{
	struct mt_ring_alloc call = { .hdr = { .kind = MT_RING_MALLOC, .pid = 1, .tid = 1 } };
	struct mt_ring_stack stack = { .id = 1, .pid = 1, .tid = 1, .time = 10 };
	uint32_t i;

	cr_assert_eq(mt_decoder_new(writer, &decoder), 0);
	fill_ids();
	for (i = 0; i < MT_GROUPS_MAX; i++) {
		if (!mt_decoder_room(decoder))
			cr_assert_eq(mt_decoder_write_events(decoder), 0);
		call.hdr.group = (uint16_t)i;
		call.hdr.time = 10;
		cr_assert_eq(mt_decoder_event(decoder, &call, sizeof(call)), 0);
	}
	for (i = 0; i < MT_DECODER_STACKS; i++)
		cr_assert_eq(mt_decoder_stack(decoder, &stack, sizeof(stack)), 0);
	cr_assert_eq(mt_decoder_write_stacks(decoder), 0);
	cr_assert_eq(mt_decoder_write_events(decoder), 0);
	fill_mappings();
}

static void fill_coverage(void)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free" };
	struct mt_coverage_source source = {
		.kind = "user", .fixed_size = 8, .functions = names,
		.n_functions = MT_ARRAY_SIZE(names),
	};
	uint64_t *counts = calloc(MT_GROUPS_MAX, sizeof(*counts));
	uint32_t i, id = 0, times = 0;
	int err = 0;

	cr_assert_eq(mt_coverage_new(&coverage), 0);
	for (i = 0; i < 5000; i++)
		mt_coverage_gap(coverage, new_path(200), NULL, "malloc", "no reason");
	for (i = 0; i < MT_GROUPS_MAX; i++)
		counts[i] = i + 1;
	while (err != -EOVERFLOW) {
		source.path = new_path(1 + 100 + noise() % 100);
		err = mt_coverage_add(coverage, &source, &id);
		if (err != -ENOBUFS)
			continue;
		times++;
		cr_assert_eq(mt_coverage_write(coverage, writer, counts), 0);
	}
	cr_assert_eq(id, MT_GROUPS_MAX - 1);
	cr_assert_gt(times, 10);
	free(counts);
}

static struct mt_file_notes *fill_notes(void)
{
	struct mt_inode_key key = { .ino = 1 };
	char name[] = "/tmp/t_record_memory.XXXXXX";
	int fd = mkstemp(name), half, i;
	struct mt_file_notes *notes;

	unlink(name);
	cr_assert_eq(mt_file_notes_new(&notes), 0);
	for (half = 0; half < 2; half++) {
		for (i = 0; i < 5000; i++)
			mt_file_notes_add(notes, fd, new_path(LONG_PATH), &key);
		if (!half)
			cr_assert_eq(mt_file_notes_write(notes, writer, false), 0);
	}
	cr_assert_gt(mt_file_notes_dropped(notes), 1000);
	/* Short ones, of which there are more before the paths' room is used up. */
	cr_assert_eq(mt_file_notes_write(notes, writer, false), 0);
	for (half = 0; half < 2; half++) {
		for (i = 0; i < 5000; i++)
			mt_file_notes_add(notes, fd, new_path(20), &key);
		if (!half)
			cr_assert_eq(mt_file_notes_write(notes, writer, false), 0);
	}
	close(fd);
	return notes;
}

static struct mt_witness *fill_witness(void)
{
	struct mt_witness *witness;
	uint32_t i;

	cr_assert_eq(mt_witness_new(NULL, NULL, &witness), 0);
	for (i = 1; i <= 100000; i++) {
		mt_witness_known(witness, (struct mt_witness_file){ .ino = i }, 10);
		mt_witness_mapped(witness, i, (struct mt_witness_file){ .ino = i }, 5);
	}
	cr_assert_gt(mt_witness_unseen(witness), 90000);
	return witness;
}

static struct mt_marks *fill_marks(void)
{
	struct mt_marks *marks;
	uint32_t i;
	int err = 0;

	cr_assert_eq(mt_marks_new(&marks), 0);
	for (i = 0; !err && i < 100000; i++)
		err = mt_marks_add(marks, MT_MARK_NAME, i, new_path(48));
	cr_assert_eq(err, -ENOBUFS);
	return marks;
}

static void fill_regained(struct mt_regained *regained)
{
	struct mt_mmap_record record = { .pid = 1 };
	uint32_t i;
	int err = 0;

	mt_regained_init(regained);
	for (i = 0; !err && i < 100000; i++) {
		record.path = new_path(110);
		err = mt_regained_add(regained, &record);
	}
	cr_assert_eq(err, -ENOBUFS);
}

static struct mt_stopped *fill_stopped(void)
{
	struct mt_stopped *stopped;
	int pid;

	cr_assert_eq(mt_stopped_new(NULL, &stop_table, &stopped), 0);
	for (pid = 1; pid <= (int)TRACKED; pid++)
		cr_assert_eq(mt_stopped_add(stopped, pid, MT_STOP_ATTACH, 1), 1);
	memset(&stop_table, 0xff, sizeof(stop_table));
	return stopped;
}

/* All columns of all types, with bytes that no compressor makes fewer. */
static void fill_encoder(void)
{
	struct mt_event event;
	uint32_t type, i;

	for (type = 1; type < MT_EV_TYPES; type++) {
		for (i = 0; i < 1u << 15; i++) {
			event = (struct mt_event){
				.type = (uint8_t)type, .time = noise(), .begin = noise(),
				.addr = noise(), .old_addr = noise(), .size = noise(),
				.align = noise(), .thread = (uint32_t)noise(),
				.stack = (uint32_t)noise(),
			};
			cr_assert_eq(mt_writer_events(writer, &event, 1), 0);
		}
	}
}

static void fill_writer(void)
{
	static uint64_t bytes[8191];
	struct mt_stack stack = { .id = 1, .n_bytes = sizeof(bytes) };
	struct mt_lifecycle row = fixture_lifecycle[3];
	char *name = calloc(1, 60001);
	uint32_t i;

	cr_assert_eq(mt_writer_open(open("/dev/null", O_WRONLY | O_CLOEXEC), &fixture_header,
				    &writer), 0);
	stack.bytes = (const uint8_t *)bytes;
	for (i = 0; i < sizeof(bytes) / 8; i++)
		bytes[i] = noise();
	for (i = 0; i < 100; i++)
		cr_assert_eq(mt_writer_stacks(writer, &stack, 1), 0);
	row.path = name;
	for (i = 0; i < 60000; i++)
		name[i] = (char)(noise() | 1);
	for (i = 0; i < 20; i++)
		cr_assert_eq(mt_writer_lifecycle(writer, &row, 1), 0);
	free(name);
	fill_encoder();
}

static void fill_index(void)
{
	uint32_t i;

	for (i = 0; i < MT_SEEK_FRAMES_MAX; i++)
		cr_assert_eq(mt_writer_checkpoint(writer, &fixture_checkpoint), 0);
}

static size_t size_of_learner(void)
{
	struct mallinfo2 before = mallinfo2(), after;
	struct mt_path_learner *learner;

	cr_assert_eq(mt_path_learner_start(NULL, &learner), 0);
	after = mallinfo2();
	mt_path_learner_free(learner);
	return after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
}

Test(memory, every_table_at_its_ceiling, .timeout = 300)
{
	const struct mt_trailer trailer = { .end_reason = "exited" };
	size_t start, full, at_end, learner, highest, looked;
	FILE *large = make_large_elf();
	struct mt_file_notes *notes;
	struct mt_regained regained;
	struct mt_stopped *stopped;
	struct mt_witness *witness;
	struct mt_marks *marks;

	mallopt(M_MMAP_THRESHOLD, MT_MAPPED_ALONE);
	start = resident_bytes();
	/* Before all else, so that this was highest; twice, to have all code that it runs. */
	look_at_large_elf(large);
	look_at_large_elf(large);
	looked = highest_bytes();
	looked = looked > start ? looked - start : 0;
	fclose(large);
	learner = size_of_learner();
	fill_writer();
	fill_decoder();
	fill_coverage();
	notes = fill_notes();
	witness = fill_witness();
	marks = fill_marks();
	fill_regained(&regained);
	stopped = fill_stopped();
	fill_index();
	full = resident_bytes() - start;
	cr_assert_eq(mt_writer_finish(writer, &trailer), 0);
	at_end = highest_bytes() - start;

	highest = at_end > full ? at_end : full;
	highest += learner + PROBED + DESCRIPTORS + SPACES + SMALL + looked + MT_ELF_IMAGE_HELD_MAX;
	fprintf(stderr, "resident: %zu KiB of filled tables, %zu KiB when the trailer is written, "
		"%zu KiB of learner, %zu KiB while a large file is looked at, %zu KiB in all\n",
		full >> 10, at_end >> 10, learner >> 10, looked >> 10, highest >> 10);
	/* The address sanitizer's memory is its own: with it this looks for errors only. */
#ifndef __SANITIZE_ADDRESS__
	cr_assert_gt(full, MOST / 3, "%zu: not filled", full);
	cr_assert_gt(learner, (size_t)6 << 20);
	cr_assert_lt(looked, (size_t)2 << 20);
	cr_assert_lt(highest, MOST, "%zu", highest);
#endif
	gone = true;
	mt_stopped_free(stopped);
	mt_regained_release(&regained);
	mt_marks_free(marks);
	mt_witness_free(witness);
	mt_file_notes_free(notes);
	mt_decoder_free(decoder);
	mt_coverage_free(coverage);
	mt_writer_free(writer);
}
