#include "record/old_kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>

#include "bpf/mt_ring.h"

/* In the order of enum mt_old_probe. */
static const char *const probes[MT_OLD_PROBES] = {
	"probe_alloc", "probe_return", "probe_free", "probe_ret_site", "probe_leave",
};

/* Second programs on one event are for kernels that leave some out. */
static bool is_left_out(const char *name)
{
	size_t len = strlen(name);

	return strncmp(name, "wait_", 5) == 0 || strcmp(name, "probe_call") == 0 ||
	       (len > 2 && strcmp(name + len - 2, "_2") == 0);
}

int mt_old_kernel_prepare(struct bpf_object *object)
{
	struct bpf_map *captures = bpf_object__find_map_by_name(object, "captures");
	int n_cpus = libbpf_num_possible_cpus();
	struct bpf_program *program;

	if (n_cpus < 0)
		return n_cpus;
	bpf_object__for_each_program(program, object)
		if (is_left_out(bpf_program__name(program)))
			bpf_program__set_autoload(program, false);
	return captures ? bpf_map__set_max_entries(captures, n_cpus) : -ENOENT;
}

static int set_numbers(int fd, uint64_t *ret_step)
{
	int n_cpus = libbpf_num_possible_cpus(), i, err;
	struct mt_numbers *numbers;
	__u32 key = 0;

	if (n_cpus < 0)
		return n_cpus;
	numbers = calloc(n_cpus, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (i = 0; i < n_cpus; i++)
		numbers[i] = (struct mt_numbers){ .next = i + 1, .step = n_cpus + 1 };
	err = bpf_map_update_elem(fd, &key, numbers, BPF_ANY);
	free(numbers);
	if (!err)
		*ret_step = n_cpus + 1;
	return err;
}

int mt_old_kernel_start(struct bpf_object *object, uint64_t *ret_step)
{
	int numbers = bpf_object__find_map_fd_by_name(object, "numbers");
	int table = bpf_object__find_map_fd_by_name(object, "probes");
	struct bpf_program *program;
	__u32 i;
	int fd, err;

	if (numbers < 0 || table < 0)
		return -ENOENT;
	for (i = 0; i < MT_OLD_PROBES; i++) {
		program = bpf_object__find_program_by_name(object, probes[i]);
		fd = program ? bpf_program__fd(program) : -ENOENT;
		err = fd < 0 ? fd : bpf_map_update_elem(table, &i, &fd, BPF_ANY);
		if (err)
			return err;
	}
	return set_numbers(numbers, ret_step);
}

#define MOVE(to, from)							\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from }
#define MOVE_NUMBER(to, number)						\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = to, .imm = number }
#define LOAD_WIDE(to, kind, number)					\
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = to, .src_reg = kind,	\
	  .imm = (int32_t)(uint32_t)(number) },				\
	{ .imm = (int32_t)(uint32_t)((uint64_t)(number) >> 32) }
#define CALL(helper) { .code = BPF_JMP | BPF_CALL, .imm = helper }

int mt_old_kernel_jump(int cookies_fd, int probes_fd, uint32_t place, uint64_t cookie)
{
	const struct bpf_insn insns[] = {
		MOVE(BPF_REG_6, BPF_REG_1),
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		LOAD_WIDE(BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)cookies_fd),
		MOVE(BPF_REG_2, BPF_REG_10),
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4 },
		CALL(BPF_FUNC_map_lookup_elem),
		/* Past all but the end. */
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 8 },
		LOAD_WIDE(BPF_REG_1, 0, cookie),
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0,
		  .src_reg = BPF_REG_1 },
		MOVE(BPF_REG_1, BPF_REG_6),
		LOAD_WIDE(BPF_REG_2, BPF_PSEUDO_MAP_FD, (uint32_t)probes_fd),
		MOVE_NUMBER(BPF_REG_3, (int32_t)place),
		CALL(BPF_FUNC_tail_call),
		MOVE_NUMBER(BPF_REG_0, 0),
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "mt_jump", "GPL", insns, MT_ARRAY_SIZE(insns),
			     NULL);
}
