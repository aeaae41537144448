/* libdwfl's unwinder over captured stacks. */
#include "tests/oracle/oracle.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#define REGS 17
#define ONLY_THREAD 1

struct libdw_oracle {
	struct mt_oracle base;
	Dwfl *dwfl;
	/* of the stack being unwound */
	uint64_t *pcs;
	size_t max;
	size_t n;
};

/* Modules are named by their paths. */
static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		    char **ret_path, Elf **ret_elf)
{
	(void)module;
	(void)user;
	(void)base;
	(void)ret_elf;
	*ret_path = strdup(name);
	return *ret_path ? open(name, O_RDONLY | O_CLOEXEC) : -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return ONLY_THREAD;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct libdw_oracle *oracle = arg;
	uint64_t value;

	(void)dwfl;
	if (!mt_oracle_read_stack(&oracle->base, addr, &value))
		return false;
	*result = value;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct libdw_oracle *oracle = arg;
	Dwarf_Word regs[REGS];
	size_t i;

	for (i = 0; i < REGS; i++)
		regs[i] = oracle->base.stack->regs[i];
	return dwfl_thread_state_registers(thread, 0, REGS, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct libdw_oracle *oracle = arg;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || !pc)
		return DWARF_CB_ABORT;
	if (oracle->n == oracle->max)
		return DWARF_CB_ABORT;
	oracle->pcs[oracle->n++] = pc;
	return DWARF_CB_OK;
}

static int unwind(struct mt_oracle *base, const struct mt_stack *stack, uint64_t *pcs, size_t max,
		  size_t *ret_n)
{
	struct libdw_oracle *oracle = (struct libdw_oracle *)base;

	if (stack->n_regs < REGS)
		return -EINVAL;
	oracle->pcs = pcs;
	oracle->max = max;
	oracle->n = 0;
	dwfl_getthread_frames(oracle->dwfl, ONLY_THREAD, on_frame, oracle);
	*ret_n = oracle->n;
	return 0;
}

static void release(struct mt_oracle *base)
{
	struct libdw_oracle *oracle = (struct libdw_oracle *)base;

	if (oracle->dwfl)
		dwfl_end(oracle->dwfl);
	free(oracle);
}

static const struct mt_oracle_ops ops = { "libdw", unwind, release };

/* Where the whole file lies, given where one part of it is mapped. */
static bool whole_range(int fd, const struct mt_oracle_mapping *mapping, uint64_t *ret_start,
			uint64_t *ret_end)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;
	uint64_t bias = 0;
	bool found = false;
	GElf_Phdr phdr;
	size_t n = 0;
	size_t i;

	if (elf && elf_getphdrnum(elf, &n))
		n = 0;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		low = phdr.p_vaddr < low ? phdr.p_vaddr : low;
		high = phdr.p_vaddr + phdr.p_memsz > high ? phdr.p_vaddr + phdr.p_memsz : high;
		if (!(phdr.p_flags & PF_X) || mapping->offset + 4096 <= phdr.p_offset ||
		    mapping->offset >= phdr.p_offset + phdr.p_filesz)
			continue;
		bias = mapping->start - mapping->offset + phdr.p_offset - phdr.p_vaddr;
		found = true;
	}
	elf_end(elf);
	*ret_start = bias + (low & ~(uint64_t)4095);
	*ret_end = bias + high;
	return found;
}

/* dwfl_report_elf() would round the range up to the segments' alignment, into other modules. */
static void report(struct libdw_oracle *oracle, const struct mt_oracle_mapping *mapping)
{
	int fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
	uint64_t start;
	uint64_t end;

	if (fd >= 0 && whole_range(fd, mapping, &start, &end))
		dwfl_report_module(oracle->dwfl, mapping->path, start, end);
	if (fd >= 0)
		close(fd);
}

int mt_oracle_libdw_new(const struct mt_oracle_mapping *mappings, size_t n,
			struct mt_oracle **ret_oracle)
{
	struct libdw_oracle *oracle = calloc(1, sizeof(*oracle));
	size_t i;

	if (!oracle)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	oracle->base.ops = &ops;
	oracle->dwfl = dwfl_begin(&callbacks);
	if (!oracle->dwfl)
		goto out_free;
	dwfl_report_begin(oracle->dwfl);
	for (i = 0; i < n; i++)
		report(oracle, &mappings[i]);
	dwfl_report_end(oracle->dwfl, NULL, NULL);
	if (!dwfl_attach_state(oracle->dwfl, NULL, ONLY_THREAD, &thread_callbacks, oracle))
		goto out_free;
	*ret_oracle = &oracle->base;
	return 0;

out_free:
	release(&oracle->base);
	return -EINVAL;
}
