#include "record/programs_impl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "mt_record_old.skel.h"
#include "record/code_mask.h"
#include "record/kernel_features.h"
#include "record/old_kernel.h"
#include "record/uprobe_multi.h"

/* The programs for old kernels come under the names of the others: globals must lie alike. */
#define LIES_ALIKE(section, field)						\
	_Static_assert(offsetof(struct mt_record__##section, field) ==		\
		       offsetof(struct mt_record_old__##section, field), #field)
LIES_ALIKE(bss, losses);
LIES_ALIKE(bss, next_space);
LIES_ALIKE(bss, root_signals);
LIES_ALIKE(bss, answers);
LIES_ALIKE(bss, mappings_read);
LIES_ALIKE(bss, unasked);
LIES_ALIKE(bss, identified);
LIES_ALIKE(bss, n_sampled_blocks);
LIES_ALIKE(rodata, stack_size);
LIES_ALIKE(rodata, ring_limit);
LIES_ALIKE(rodata, numbers_differ);
LIES_ALIKE(rodata, sample_bytes);
_Static_assert(sizeof(struct mt_record__bss) == sizeof(struct mt_record_old__bss) &&
	       sizeof(struct mt_record__rodata) == sizeof(struct mt_record_old__rodata), "alike");

/* libbpf's print callback has no argument; loading happens once, on one thread. */
static char *log_buffer;

static int keep_log(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t used = strlen(log_buffer), len, room = MT_PROGRAMS_LOG_MAX - 1;
	char *text = NULL;
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = vasprintf(&text, format, args);
#pragma GCC diagnostic pop
	if (n < 0)
		return 0;
	/* The verifier's output can be megabytes; its end says what was wrong. */
	len = (size_t)n < room ? (size_t)n : room;
	if (used > room - len) {
		memmove(log_buffer, log_buffer + used - (room - len), room - len);
		used = room - len;
	}
	memcpy(log_buffer + used, text + n - len, len);
	log_buffer[used + len] = '\0';
	free(text);
	return 0;
}

static int set_tables(struct mt_record *skel, const uint32_t sizes[MT_TABLES])
{
	struct bpf_map *const maps[MT_TABLES] = {
		[MT_TABLE_PROCESSES] = skel->maps.processes, [MT_TABLE_CODE] = skel->maps.codes,
		[MT_TABLE_STACKS] = skel->maps.seen_stacks,
		[MT_TABLE_FILES] = skel->maps.known_inodes,
		[MT_TABLE_LINKERS] = skel->maps.linkers,
		[MT_TABLE_CAPTURES] = skel->maps.captures,
	};
	size_t i;
	int err = 0;

	for (i = 0; i < MT_TABLES && !err; i++)
		if (sizes[i])
			err = bpf_map__set_max_entries(maps[i], sizes[i]);
	return err;
}

static int set_options(struct mt_record *skel, const struct mt_programs_options *options)
{
	struct bpf_program *const probes[] = {
		skel->progs.probe_alloc, skel->progs.probe_return, skel->progs.probe_free,
		skel->progs.probe_ret_site, skel->progs.probe_leave,
		skel->progs.wait_in_linker, skel->progs.wait_before_exec,
	};
	bool session;
	size_t i;
	int err;

	skel->rodata->stack_size = options->stack_size;
	skel->rodata->sample_bytes = options->sample_bytes;
	skel->rodata->recorder_pid = getpid();
	skel->rodata->regions_on = options->regions;
	skel->bss->paused = options->paused;
	skel->rodata->identity_mode = options->identity;
	skel->rodata->code_mask = mt_code_mask();
	skel->rodata->numbers_differ = mt_kernel_in_pid_namespace();
	skel->rodata->pressure_on = options->pressure;
	skel->rodata->ring_limit = options->ring.limit;
	skel->rodata->stack_ring_limit = options->stack_ring.limit;
	skel->rodata->request_ring_limit = options->request_ring_size / 4 * 3;
	skel->rodata->mappings_limit = options->mappings_limit;
	err = bpf_map__set_max_entries(skel->maps.events, options->ring.size);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.stacks, options->stack_ring.size);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.requests, options->request_ring_size);
	if (!err)
		err = set_tables(skel, options->tables);
	session = options->attach_mode == MT_ATTACH_SESSION;
	if (!err && !options->sample_bytes)
		err = bpf_map__set_max_entries(skel->maps.sampled_blocks, 1);
	if (!err && !options->sample_bytes)
		err = bpf_map__set_max_entries(skel->maps.fixed_sizes, 1);
	if (!err)
		err = bpf_program__set_autoload(skel->progs.probe_call, session);
	if (!err && session)
		err = bpf_program__set_expected_attach_type(skel->progs.probe_call,
							    MT_BPF_TRACE_UPROBE_SESSION);
	if (!err && options->attach_mode != MT_ATTACH_PERF)
		for (i = 0; i < MT_ARRAY_SIZE(probes); i++)
			bpf_program__set_expected_attach_type(probes[i], MT_BPF_TRACE_UPROBE_MULTI);
	return err;
}

/* Of the programs for older kernels too: they have all maps and programs that this one knows. */
static int open_skeleton(bool old, struct mt_record **ret_skel)
{
	struct mt_record *skel = calloc(1, sizeof(*skel));
	int err;

	if (!skel)
		return -ENOMEM;
	err = mt_record__create_skeleton(skel);
	if (err) {
		free(skel);
		return -ENOMEM;
	}
	if (old)
		skel->skeleton->data = mt_record_old__elf_bytes(&skel->skeleton->data_sz);
	err = bpf_object__open_skeleton(skel->skeleton, NULL);
	if (err)
		mt_record__destroy(skel);
	else
		*ret_skel = skel;
	return err;
}

/* On failure what there is stays for the caller to free. */
static int load_with(struct mt_programs *programs, const struct mt_programs_options *options)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	err = open_skeleton(programs->old, &programs->skel);
	if (err)
		return err;
	mt_watch_choose(programs->skel->obj, programs->watch, options->regions);
	err = set_options(programs->skel, options);
	if (!err && programs->old)
		err = mt_old_kernel_prepare(programs->skel->obj);
	if (!err)
		err = mt_record__load(programs->skel);
	if (!err && programs->old)
		err = mt_old_kernel_start(programs->skel->obj, &programs->step);
	if (!err)
		err = bpf_prog_test_run_opts(bpf_program__fd(programs->skel->progs.meet_recorder),
					     &opts);
	if (!err)
		err = mt_watch_attach(programs->skel->obj, &programs->links);
	return err;
}

static int load_first(const struct mt_programs_options *options, bool old, enum mt_watch first,
		      enum mt_watch last, struct mt_programs **ret_programs)
{
	struct mt_programs *programs;
	enum mt_watch watch;
	int err = -EOPNOTSUPP;

	for (watch = first; watch <= last; watch++) {
		log_buffer[0] = '\0';
		err = mt_watch_try(watch);
		if (err)
			continue;
		programs = calloc(1, sizeof(*programs));
		if (!programs)
			return -ENOMEM;
		programs->watch = watch;
		programs->old = old;
		programs->step = 1;
		err = load_with(programs, options);
		if (!err) {
			*ret_programs = programs;
			break;
		}
		mt_programs_free(programs);
	}
	return err;
}

static int load_any(const struct mt_programs_options *options, bool old,
		    struct mt_programs **ret_programs)
{
	enum mt_watch first = MT_WATCH_FENTRY, last = MT_WATCH_RAW;

	if (options->watch == MT_WATCH_FENTRY)
		last = MT_WATCH_FENTRY;
	/* On an old kernel programs on functions can be preempted; on tracepoints they cannot. */
	else if (options->watch == MT_WATCH_TRACEPOINT || old)
		first = MT_WATCH_TRACEPOINT;
	if (old && first < MT_WATCH_TRACEPOINT)
		return -EOPNOTSUPP;
	return load_first(options, old, first, last, ret_programs);
}

int mt_programs_load(const struct mt_programs_options *options, char log[MT_PROGRAMS_LOG_MAX],
		     struct mt_programs **ret_programs)
{
	libbpf_print_fn_t old_print;
	int err;

	log[0] = '\0';
	log_buffer = log;
	old_print = libbpf_set_print(keep_log);
	err = load_any(options, mt_kernel_is_old(), ret_programs);
	libbpf_set_print(old_print);
	log_buffer = NULL;
	return err;
}

void mt_programs_free(struct mt_programs *programs)
{
	if (!programs)
		return;
	mt_watch_detach(&programs->links);
	mt_record__destroy(programs->skel);
	free(programs);
}
