/* libunwind's remote interface over captured stacks. */
#include "tests/oracle/oracle.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Exported, but in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

#define HDR_TABLE_SORTED 0x3b	/* datarel | sdata4 */

struct file {
	const struct mt_oracle_mapping *mapping;
	uint8_t *bytes;
	size_t size;
	uint64_t bias;
	uint64_t hdr;		/* svma of .eh_frame_hdr, 0 if none */
	uint64_t hdr_offset;
};

struct libunwind_oracle {
	struct mt_oracle base;
	unw_addr_space_t space;
	struct file *files;
	size_t n;
};

static const Elf64_Phdr *phdrs(const struct file *file, size_t *ret_n)
{
	const Elf64_Ehdr *ehdr = (const void *)file->bytes;

	*ret_n = ehdr->e_phnum;
	return (const void *)(file->bytes + ehdr->e_phoff);
}

static void load_file(struct file *file)
{
	const struct mt_oracle_mapping *mapping = file->mapping;
	int fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
	const Elf64_Phdr *phdr;
	struct stat st;
	size_t n;
	size_t i;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 64)
		file->bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (!file->bytes || file->bytes == MAP_FAILED || memcmp(file->bytes, ELFMAG, SELFMAG)) {
		file->bytes = NULL;
		return;
	}
	file->size = (size_t)st.st_size;
	phdr = phdrs(file, &n);
	for (i = 0; i < n; i++, phdr++) {
		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) &&
		    mapping->offset + 4096 > phdr->p_offset &&
		    mapping->offset < phdr->p_offset + phdr->p_filesz)
			file->bias = mapping->start - mapping->offset + phdr->p_offset -
				     phdr->p_vaddr;
		if (phdr->p_type == PT_GNU_EH_FRAME) {
			file->hdr = phdr->p_vaddr;
			file->hdr_offset = phdr->p_offset;
		}
	}
}

static const struct file *find_file(const struct libunwind_oracle *oracle, uint64_t pc)
{
	size_t i;

	for (i = 0; i < oracle->n; i++)
		if (oracle->files[i].bytes && pc >= oracle->files[i].mapping->start &&
		    pc < oracle->files[i].mapping->end)
			return &oracle->files[i];
	return NULL;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_info, void *arg)
{
	const struct file *file = find_file(arg, ip);
	unw_dyn_info_t dyn = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint32_t count;

	if (!file || !file->hdr || file->bytes[file->hdr_offset + 3] != HDR_TABLE_SORTED)
		return -UNW_ENOINFO;
	memcpy(&count, file->bytes + file->hdr_offset + 8, sizeof(count));
	dyn.start_ip = file->mapping->start;
	dyn.end_ip = file->mapping->end;
	dyn.u.rti.segbase = file->bias + file->hdr;
	dyn.u.rti.table_data = file->bias + file->hdr + 12;
	dyn.u.rti.table_len = (unw_word_t)count * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &dyn, info, need_info, arg);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space;
	(void)info;
	(void)arg;
}

static int no_dyn_info(unw_addr_space_t space, unw_word_t *addr, void *arg)
{
	(void)space;
	(void)addr;
	(void)arg;
	return -UNW_ENOINFO;
}

/* A word of a file as it is mapped. */
static bool read_file(const struct libunwind_oracle *oracle, uint64_t addr, uint64_t *ret_value)
{
	const Elf64_Phdr *phdr;
	uint64_t svma;
	size_t n;
	size_t i;
	size_t k;

	for (i = 0; i < oracle->n; i++) {
		if (!oracle->files[i].bytes)
			continue;
		svma = addr - oracle->files[i].bias;
		phdr = phdrs(&oracle->files[i], &n);
		for (k = 0; k < n; k++, phdr++) {
			if (phdr->p_type != PT_LOAD || svma < phdr->p_vaddr ||
			    svma - phdr->p_vaddr > phdr->p_filesz)
				continue;
			svma = svma - phdr->p_vaddr + phdr->p_offset;
			if (oracle->files[i].size - svma < 8)
				return false;
			memcpy(ret_value, oracle->files[i].bytes + svma, 8);
			return true;
		}
	}
	return false;
}

static int access_mem(unw_addr_space_t space, unw_word_t addr, unw_word_t *value, int write,
		      void *arg)
{
	struct libunwind_oracle *oracle = arg;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (read_file(oracle, addr, value) || mt_oracle_read_stack(&oracle->base, addr, value))
		return 0;
	return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
		      void *arg)
{
	struct libunwind_oracle *oracle = arg;

	(void)space;
	if (write || reg < 0 || (uint32_t)reg >= oracle->base.stack->n_regs)
		return -UNW_EBADREG;
	*value = oracle->base.stack->regs[reg];
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)space;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t addr, char *name, size_t size,
		   unw_word_t *offset, void *arg)
{
	(void)space;
	(void)addr;
	(void)name;
	(void)size;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dyn_info,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = no_resume,
	.get_proc_name = no_name,
};

static int unwind(struct mt_oracle *base, const struct mt_stack *stack, uint64_t *pcs, size_t max,
		  size_t *ret_n)
{
	struct libunwind_oracle *oracle = (struct libunwind_oracle *)base;
	unw_cursor_t cursor;
	unw_word_t ip;
	size_t n = 0;

	(void)stack;
	if (unw_init_remote(&cursor, oracle->space, oracle))
		return -EINVAL;
	do {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) || !ip)
			break;
		if (n < max)
			pcs[n++] = ip;
	} while (n < max && unw_step(&cursor) > 0);
	*ret_n = n;
	return 0;
}

static void release(struct mt_oracle *base)
{
	struct libunwind_oracle *oracle = (struct libunwind_oracle *)base;
	size_t i;

	for (i = 0; i < oracle->n; i++)
		if (oracle->files[i].bytes)
			munmap(oracle->files[i].bytes, oracle->files[i].size);
	if (oracle->space)
		unw_destroy_addr_space(oracle->space);
	free(oracle->files);
	free(oracle);
}

static const struct mt_oracle_ops ops = { "libunwind", unwind, release };

int mt_oracle_libunwind_new(const struct mt_oracle_mapping *mappings, size_t n,
			    struct mt_oracle **ret_oracle)
{
	struct libunwind_oracle *oracle = calloc(1, sizeof(*oracle));
	size_t i;

	if (!oracle)
		return -ENOMEM;
	oracle->base.ops = &ops;
	oracle->files = calloc(n + 1, sizeof(*oracle->files));
	oracle->space = unw_create_addr_space(&accessors, 0);
	if (!oracle->files || !oracle->space) {
		release(&oracle->base);
		return -ENOMEM;
	}
	oracle->n = n;
	for (i = 0; i < n; i++) {
		oracle->files[i].mapping = &mappings[i];
		load_file(&oracle->files[i]);
	}
	*ret_oracle = &oracle->base;
	return 0;
}
