#include "record/programs_impl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/clock.h"
#include "record/sampled_blocks.h"

#define IDENTIFY_NS 10000000000ull
#define IDENTIFY_PAUSE_NS 100000
#define SWEEP_FROM (MT_SAMPLED_BLOCKS / 4)
#define SWEEP_PAUSE_NS 400000000

enum mt_watch mt_programs_watch(const struct mt_programs *programs)
{
	return programs->watch;
}

static int processes_fd(const struct mt_programs *programs)
{
	return bpf_map__fd(programs->skel->maps.processes);
}

/* A number that no address space has had. */
static __u64 new_space(struct mt_programs *programs)
{
	return __atomic_add_fetch(&programs->skel->bss->next_space, programs->step,
				  __ATOMIC_RELAXED);
}

int mt_programs_track(struct mt_programs *programs, int pidfd, int pid)
{
	struct mt_task_state state = { .space = new_space(programs) };
	__u32 key = pid;
	__u64 flags = state.space << MT_PROCESS_SPACE_SHIFT;
	int err = 0;

	/* Without, it gets its state when it is first met. */
	if (!programs->old)
		err = bpf_map_update_elem(bpf_map__fd(programs->skel->maps.tasks), &pidfd, &state,
					  BPF_NOEXIST);
	if (!err)
		err = bpf_map_update_elem(processes_fd(programs), &key, &flags, BPF_ANY);
	if (!err) {
		programs->skel->bss->root_pid = key;
		__atomic_add_fetch(&programs->skel->bss->tracked_processes, 1, __ATOMIC_RELAXED);
	}
	return err;
}

uint64_t mt_programs_root_signal(const struct mt_programs *programs, int sig)
{
	return sig >= 0 && sig < MT_SIGNALS_MAX ?
	       __atomic_load_n(&programs->skel->bss->root_signals[sig], __ATOMIC_RELAXED) : 0;
}

uint64_t mt_programs_own_signal(const struct mt_programs *programs, int sig)
{
	return sig >= 0 && sig < MT_SIGNALS_MAX ?
	       __atomic_load_n(&programs->skel->bss->recorder_signals[sig], __ATOMIC_RELAXED) : 0;
}

int mt_programs_adopt(struct mt_programs *programs, int pid)
{
	__u32 key = pid;
	__u64 flags = new_space(programs) << MT_PROCESS_SPACE_SHIFT;
	int err = bpf_map_update_elem(processes_fd(programs), &key, &flags, BPF_NOEXIST);

	if (err == -EEXIST)
		return 0;
	if (!err)
		__atomic_add_fetch(&programs->skel->bss->tracked_processes, 1, __ATOMIC_RELAXED);
	return err;
}

bool mt_programs_is_tracked(const struct mt_programs *programs, int pid)
{
	__u32 key = pid;
	__u64 flags;

	return !bpf_map_lookup_elem(processes_fd(programs), &key, &flags);
}

/* The same table as bpf/code.bpf.h fills. */
static void add_code(struct mt_process_code *code, uint64_t start, uint64_t end)
{
	uint64_t page;

	for (page = start >> 12; page < (end + 4095) >> 12; page++) {
		struct mt_code_chunk *chunk = &code->chunks[(page >> 6) & (MT_CODE_CHUNKS - 1)];
		uint64_t tag = (page >> (MT_CODE_TAG_SHIFT - 12)) + 1;

		if (!chunk->tag)
			chunk->tag = tag;
		else if (chunk->tag != tag)
			chunk->tag = MT_CODE_ANY;
		chunk->pages |= 1ull << (page & 63);
	}
}

static void add_range(struct mt_process_code *code, uint64_t start, uint64_t end)
{
	if (start < code->lowest || !code->highest)
		code->lowest = start;
	if (end > code->highest)
		code->highest = end;
	if (code->n_ranges < MT_CODE_RANGES)
		code->ranges[code->n_ranges++] = (struct mt_code_span){ start, end };
	else
		code->more_ranges = 1;
	if (end - start > (uint64_t)MT_CODE_CHUNKS << MT_CODE_CHUNK_SHIFT)
		code->unknown = 1;
	else
		add_code(code, start, end);
}

int mt_programs_adopt_code(struct mt_programs *programs, int pid,
			   const struct mt_code_range *ranges, size_t n)
{
	struct mt_process_code *code = calloc(1, sizeof(*code));
	__u32 key = pid;
	size_t i;
	int err;

	if (!code)
		return -ENOMEM;
	code->generation = __atomic_add_fetch(&programs->skel->bss->next_generation,
					      programs->step, __ATOMIC_RELAXED);
	for (i = 0; i < n; i++)
		if (ranges[i].end > ranges[i].start)
			add_range(code, ranges[i].start, ranges[i].end);
	err = bpf_map_update_elem(bpf_map__fd(programs->skel->maps.codes), &key, code, BPF_ANY);
	free(code);
	return err;
}

int mt_programs_set_fixed_size(struct mt_programs *programs, uint32_t source, uint64_t size)
{
	int fd = bpf_map__fd(programs->skel->maps.fixed_sizes);

	return programs->skel->rodata->sample_bytes ?
	       bpf_map_update_elem(fd, &source, &size, BPF_ANY) : 0;
}

void mt_programs_each_process(const struct mt_programs *programs, mt_process_fn fn, void *arg)
{
	mt_process_walk(processes_fd(programs), fn, arg);
}

static void forget_if_gone(void *arg, int pid, uint64_t flags)
{
	struct mt_programs *programs = arg;
	__u32 key = pid;

	(void)flags;
	/* Whoever deletes it has counted it out, the kernel side or this. */
	if (kill(pid, 0) && errno == ESRCH && !bpf_map_delete_elem(processes_fd(programs), &key))
		__atomic_sub_fetch(&programs->skel->bss->tracked_processes, 1, __ATOMIC_RELAXED);
}

void mt_programs_forget_gone(struct mt_programs *programs)
{
	mt_programs_each_process(programs, forget_if_gone, programs);
}

uint64_t mt_programs_process_flags(const struct mt_programs *programs, int pid)
{
	__u32 key = pid;
	__u64 flags;

	return bpf_map_lookup_elem(processes_fd(programs), &key, &flags) ? 0 : flags;
}

void mt_programs_unstop(struct mt_programs *programs, int pid)
{
	__u64 number = pid;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &number, .ctx_size_in = sizeof(number));

	bpf_prog_test_run_opts(bpf_program__fd(programs->skel->progs.unstop), &opts);
}

void mt_programs_forget_blocks(struct mt_programs *programs)
{
	__u64 *n = &programs->skel->bss->n_sampled_blocks;
	__u32 *last = &programs->skel->bss->next_space;
	uint64_t deleted = 0;

	if (__atomic_load_n(n, __ATOMIC_RELAXED) < SWEEP_FROM ||
	    mt_now() - programs->sweep_time < SWEEP_PAUSE_NS)
		return;
	/* If it fails, there is room no longer, which is counted. */
	mt_sampled_blocks_sweep(bpf_map__fd(programs->skel->maps.sampled_blocks),
				processes_fd(programs), __atomic_load_n(last, __ATOMIC_RELAXED),
				&deleted);
	__atomic_sub_fetch(n, deleted, __ATOMIC_RELAXED);
	programs->sweep_time = mt_now();
}

void mt_programs_pause(struct mt_programs *programs, bool pause)
{
	__atomic_store_n(&programs->skel->bss->paused, pause, __ATOMIC_SEQ_CST);
}

uint32_t *mt_programs_no_stops(struct mt_programs *programs)
{
	return &programs->skel->bss->no_stops;
}

int mt_programs_identify(const struct mt_programs *programs, int fd, struct mt_inode_key *ret_key)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	__u64 addr = (uintptr_t)at;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &addr, .ctx_size_in = sizeof(addr));
	const struct timespec pause = { .tv_nsec = IDENTIFY_PAUSE_NS };
	int program = bpf_program__fd(programs->skel->progs.identify);
	uint64_t start = mt_now();
	int err;

	if (at == MAP_FAILED)
		return -errno;
	/*
	 * The kernel does not wait for the lock on our mappings. Another thread of ours may hold
	 * it for long: it waits for a disk there, or has lost its CPU.
	 */
	err = bpf_prog_test_run_opts(program, &opts);
	while (!err && !opts.retval && mt_now() - start < IDENTIFY_NS) {
		nanosleep(&pause, NULL);
		err = bpf_prog_test_run_opts(program, &opts);
	}
	munmap(at, page);
	if (err || !opts.retval)
		return err ? err : -EAGAIN;
	*ret_key = programs->skel->bss->identified;
	return 0;
}

int mt_programs_know_inode(struct mt_programs *programs, const struct mt_inode_key *key,
			   uint8_t value)
{
	return bpf_map_update_elem(bpf_map__fd(programs->skel->maps.known_inodes), key, &value,
				   BPF_ANY);
}

bool mt_programs_knows_inode(const struct mt_programs *programs, const struct mt_inode_key *key)
{
	uint8_t value;

	return !bpf_map_lookup_elem(bpf_map__fd(programs->skel->maps.known_inodes), key, &value);
}

int mt_programs_know_linker(struct mt_programs *programs, const struct mt_inode_key *key,
			    uint8_t value)
{

	return bpf_map_update_elem(bpf_map__fd(programs->skel->maps.linkers), key, &value, BPF_ANY);
}

int mt_programs_believe_exec(struct mt_programs *programs, uint64_t key, uint64_t until)
{
	int fd = bpf_map__fd(programs->skel->maps.exec_names);

	return bpf_map_update_elem(fd, &key, &until, BPF_ANY);
}

void mt_programs_answer(struct mt_programs *programs, uint32_t ticket)
{
	__atomic_store_n(&programs->skel->bss->answers[ticket % MT_ANSWERS], ticket,
			 __ATOMIC_RELEASE);
}

int mt_programs_events_fd(const struct mt_programs *programs)
{
	return bpf_map__fd(programs->skel->maps.events);
}

int mt_programs_stacks_fd(const struct mt_programs *programs)
{
	return bpf_map__fd(programs->skel->maps.stacks);
}

int mt_programs_requests_fd(const struct mt_programs *programs)
{
	return bpf_map__fd(programs->skel->maps.requests);
}

int mt_programs_processes_fd(const struct mt_programs *programs)
{
	return processes_fd(programs);
}

bool mt_programs_walk_stacks(const struct mt_programs *programs)
{
#ifdef __x86_64__
	const uint32_t identity = programs->skel->rodata->identity_mode;

	return !programs->old && programs->skel->rodata->stack_size &&
	       (identity == MT_IDENTITY_PATH || identity == MT_IDENTITY_EVERY);
#else
	(void)programs;
	return false;
#endif
}

int mt_programs_frame_rows_fd(const struct mt_programs *programs)
{
	return bpf_map__fd(programs->skel->maps.frame_rows);
}

int mt_programs_seen_stacks_fd(const struct mt_programs *programs)
{
	return bpf_map__fd(programs->skel->maps.seen_stacks);
}

uint64_t mt_programs_code_generation(const struct mt_programs *programs, uint32_t pid)
{
	struct mt_process_code code;

	if (bpf_map_lookup_elem(bpf_map__fd(programs->skel->maps.codes), &pid, &code))
		return 0;
	return code.generation;
}

struct mt_probe_programs mt_programs_probes(const struct mt_programs *programs)
{
	struct bpf_object *object = programs->skel->obj;
	struct mt_probe_programs probes = {
		.cookies_fd = bpf_object__find_map_fd_by_name(object, "cookies"),
		.jumps_fd = bpf_object__find_map_fd_by_name(object, "probes"),
		.alloc_fd = bpf_program__fd(programs->skel->progs.probe_alloc),
		.return_fd = bpf_program__fd(programs->skel->progs.probe_return),
		.call_fd = bpf_program__fd(programs->skel->progs.probe_call),
		.free_fd = bpf_program__fd(programs->skel->progs.probe_free),
		.ret_site_fd = bpf_program__fd(programs->skel->progs.probe_ret_site),
		.leave_fd = bpf_program__fd(programs->skel->progs.probe_leave),
		.wait_fd = bpf_program__fd(programs->skel->progs.wait_in_linker),
		.exec_fd = bpf_program__fd(programs->skel->progs.wait_before_exec),
	};

	return probes;
}

int32_t mt_programs_tracked(const struct mt_programs *programs)
{
	return __atomic_load_n(&programs->skel->bss->tracked_processes, __ATOMIC_RELAXED);
}

void mt_programs_losses(const struct mt_programs *programs,
			struct mt_loss_counter ret_losses[MT_LOSS_KINDS])
{
	memcpy(ret_losses, programs->skel->bss->losses, sizeof(programs->skel->bss->losses));
}

uint64_t mt_programs_missed(const struct mt_programs *programs, enum mt_missed what)
{
	uint64_t missed = mt_watch_missed(programs->skel->obj, what);

	/* The end of a call that maps memory is an event of its own then. */
	if (what == MT_MISSED_EVENT && programs->skel->rodata->regions_on)
		missed += mt_watch_missed(programs->skel->obj, MT_MISSED_CALL);
	return missed;
}

void mt_programs_add_code(const struct mt_programs *programs, uint32_t pid, uint64_t start,
			  uint64_t end)
{
	__u64 args[3] = { pid, start, end };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	bpf_prog_test_run_opts(bpf_program__fd(programs->skel->progs.add_code), &opts);
}
