/* What mt-record reads of unwind tables in memory, against mt-report's compiled rows. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/frame_row.h"
#include "record/remote_memory.h"
#include "report/cfi_source.h"

#define SAMPLE 20000
#define REG_RBP 6
#define REG_RSP 7
#define REG_RIP 16

/* What the row should be, 0: none can say it. */
static uint64_t expected(const struct mt_cfi_rules *rules)
{
	int64_t rbp = 0, rip = 0;
	uint8_t i;

	if (!rules || rules->flags & MT_CFI_SIGNAL)
		return 0;
	if (rules->flags & MT_CFI_END)
		return MT_FRAME_END;
	if (rules->flags & MT_CFI_CFA_EXPR ||
	    (rules->cfa_reg != REG_RSP && rules->cfa_reg != REG_RBP))
		return 0;
	for (i = 0; i < rules->n_rules; i++) {
		if (rules->list[i].reg == REG_RSP)
			return 0;
		if (rules->list[i].reg != REG_RBP && rules->list[i].reg != REG_RIP)
			continue;
		if (rules->list[i].kind != MT_RULE_OFFSET)
			return 0;
		*(rules->list[i].reg == REG_RBP ? &rbp : &rip) = rules->list[i].value;
	}
	if (rip != -8 || rbp > 0 || rbp % 8)
		return 0;
	return MT_FRAME_ROW(rules->cfa_reg == REG_RSP ? MT_FRAME_RSP : MT_FRAME_RBP,
			    rules->cfa_value, (uint64_t)(-rbp / 8));
}

struct comparison {
	struct mt_remote_memory *memory;
	size_t files;
	size_t same;
	size_t left_out;	/* what could be said is not */
};

static void compare_rows(struct comparison *all, const struct dl_phdr_info *file, const char *path,
			 const struct mt_cfi *cfi)
{
	size_t i, step = mt_cfi_rows(cfi) / SAMPLE + 1;
	struct mt_frame_table table;
	uint64_t svma, want, got;

	/* Its first page is where its addresses begin. */
	cr_assert(mt_frame_table_find(all->memory, file->dlpi_addr, &table), "%s", path);
	for (i = 0; i + 1 < mt_cfi_rows(cfi); i += step) {
		want = expected(mt_cfi_row(cfi, i, &svma));
		if (!mt_frame_row(all->memory, &table, file->dlpi_addr + svma, &got))
			got = 0;
		all->same += got == want;
		all->left_out += !got && want;
		cr_expect(!got || got == want, "%s: 0x%" PRIx64 ": 0x%" PRIx64 ", not 0x%" PRIx64,
			  path, svma, got, want);
	}
}

static int compare(struct dl_phdr_info *file, size_t size, void *arg)
{
	const char *path = *file->dlpi_name ? file->dlpi_name : "/proc/self/exe";
	struct comparison *all = arg;
	struct mt_cfi *cfi = NULL;
	int fd;
	Elf *elf;

	(void)size;
	if (*path != '/')
		return 0;	/* the vdso has no file */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0, "%s", path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cr_assert_eq(mt_cfi_compile_elf(elf, &cfi), 0, "%s", path);
	compare_rows(all, file, path, cfi);
	all->files++;
	mt_cfi_free(cfi);
	elf_end(elf);
	close(fd);
	return 0;
}

Test(frame_row, of_all_that_is_mapped_here, .timeout = 120)
{
	struct comparison all = {};

	cr_assert_eq(mt_remote_memory_new(&all.memory), 0);
	mt_remote_memory_select(all.memory, getpid(), 1);
	dl_iterate_phdr(compare, &all);
	cr_expect_gt(all.files, 3);
	cr_expect_gt(all.same, 20000);
	cr_expect_lt(all.left_out * 1000, all.same, "%zu of %zu", all.left_out, all.same);
	mt_remote_memory_free(all.memory);
}

/* Memory is what it was under one version, and looked at anew under another. */
Test(remote_memory, keeps_what_it_read_of_a_version)
{
	struct mt_remote_memory *memory;
	char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	uint64_t at = (uintptr_t)pages + 4096 - 2;
	char got[4];

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(munmap(pages + 2 * 4096, 4096), 0);
	memcpy(pages + 4096 - 2, "abcd", 4);
	cr_assert_eq(mt_remote_memory_new(&memory), 0);
	mt_remote_memory_select(memory, getpid(), 1);
	cr_assert(mt_remote_memory_read(memory, at, got, 4));
	cr_expect_arr_eq(got, "abcd", 4);
	memcpy(pages + 4096 - 2, "efgh", 4);
	cr_assert(mt_remote_memory_read(memory, at, got, 4));
	cr_expect_arr_eq(got, "abcd", 4);
	mt_remote_memory_select(memory, getpid(), 2);
	cr_assert(mt_remote_memory_read(memory, at, got, 4));
	cr_expect_arr_eq(got, "efgh", 4);

	cr_expect(!mt_remote_memory_read(memory, (uintptr_t)pages + 2 * 4096 - 2, got, 4));
	cr_expect(!mt_remote_memory_read(memory, UINT64_MAX - 1, got, 4));
	munmap(pages, 2 * 4096);
	mt_remote_memory_free(memory);
}
