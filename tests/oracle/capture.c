/* Capture of the running test's own stacks, x86-64. */
#include "tests/oracle/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <unistd.h>

#include "report/cfi_source.h"

#define RSP 7

struct code {
	struct mt_oracle_mapping mapping;
	char *path;
	uint64_t bias;
	struct mt_cfi *cfi;
};

struct mt_capture_code {
	struct code *code;
	struct mt_oracle_mapping *mappings;
	size_t n;
};

static __thread uint64_t stack_end;

/* Registers by DWARF number, rip that of the function's entry; then on as a tail call. */
__asm__(".text\n"
	".globl mt_capture\n"
	".type mt_capture, @function\n"
	"mt_capture:\n"
	".cfi_startproc\n"
	"	movq %rax, 0(%rdi)\n"
	"	movq %rdx, 8(%rdi)\n"
	"	movq %rcx, 16(%rdi)\n"
	"	movq %rbx, 24(%rdi)\n"
	"	movq %rsi, 32(%rdi)\n"
	"	movq %rdi, 40(%rdi)\n"
	"	movq %rbp, 48(%rdi)\n"
	"	movq %rsp, 56(%rdi)\n"
	"	movq %r8, 64(%rdi)\n"
	"	movq %r9, 72(%rdi)\n"
	"	movq %r10, 80(%rdi)\n"
	"	movq %r11, 88(%rdi)\n"
	"	movq %r12, 96(%rdi)\n"
	"	movq %r13, 104(%rdi)\n"
	"	movq %r14, 112(%rdi)\n"
	"	movq %r15, 120(%rdi)\n"
	"	leaq mt_capture(%rip), %rax\n"
	"	movq %rax, 128(%rdi)\n"
	"	jmp mt_capture_bytes@PLT\n"
	".cfi_endproc\n"
	".size mt_capture, .-mt_capture\n");

void mt_capture_prepare(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	uint64_t start;
	uint64_t end;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && here >= start &&
		    here < end)
			stack_end = end;
	}
	if (maps)
		fclose(maps);
}

/* The stack may hold poisoned redzones, and is read all the same. */
__attribute__((no_sanitize("address"))) void mt_capture_bytes(struct mt_capture *capture)
{
	const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)capture->regs[RSP];
	uint64_t left = stack_end - capture->regs[RSP];
	uint32_t n = capture->budget;
	uint32_t i;

	capture->flags = MT_STACK_CUT_BUDGET;
	if (left <= n) {
		n = (uint32_t)left;
		capture->flags = 0;
	}
	for (i = 0; i < n; i++)
		capture->bytes[i] = from[i];
	capture->n_bytes = n;
	capture->above = left - n;
}

void mt_capture_stack(const struct mt_capture *capture, struct mt_stack *ret_stack)
{
	memset(ret_stack, 0, sizeof(*ret_stack));
	ret_stack->id = 1;
	ret_stack->time = 1;
	ret_stack->flags = capture->flags;
	ret_stack->above = capture->above;
	ret_stack->n_regs = MT_ARRAY_SIZE(capture->regs);
	memcpy(ret_stack->regs, capture->regs, sizeof(capture->regs));
	ret_stack->bytes = capture->bytes;
	ret_stack->n_bytes = capture->n_bytes;
}

static void load_code(struct code *code)
{
	int fd = open(code->path, O_RDONLY | O_CLOEXEC);
	GElf_Phdr phdr;
	Elf *elf;
	size_t n = 0;
	size_t i;

	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_getphdrnum(elf, &n))
		n = 0;
	for (i = 0; i < n; i++) {
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    (phdr.p_flags & PF_X) && code->mapping.offset + 4096 > phdr.p_offset &&
		    code->mapping.offset < phdr.p_offset + phdr.p_filesz)
			code->bias = code->mapping.start - code->mapping.offset + phdr.p_offset -
				     phdr.p_vaddr;
	}
	if (n)
		mt_cfi_compile_elf(elf, &code->cfi);
	elf_end(elf);
	close(fd);
}

static int add_mapping(struct mt_capture_code *codes, const char *line)
{
	struct code code = { 0 };
	struct code *grown;
	char perms[8];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &code.mapping.start,
		   &code.mapping.end, perms, &code.mapping.offset, &path) < 4 ||
	    perms[2] != 'x' || line[path] != '/')
		return 0;
	grown = reallocarray(codes->code, codes->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	codes->code = grown;
	code.path = strndup(line + path, strcspn(line + path, "\n"));
	if (!code.path)
		return -ENOMEM;
	load_code(&code);
	codes->code[codes->n++] = code;
	return 0;
}

int mt_capture_code_new(struct mt_capture_code **ret_code)
{
	struct mt_capture_code *codes = calloc(1, sizeof(*codes));
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	size_t i;
	int err = -ENOMEM;

	if (!codes || !maps)
		goto out_free;
	while (fgets(line, sizeof(line), maps)) {
		err = add_mapping(codes, line);
		if (err)
			goto out_free;
	}
	codes->mappings = calloc(codes->n + 1, sizeof(*codes->mappings));
	if (!codes->mappings)
		goto out_free;
	for (i = 0; i < codes->n; i++) {
		codes->mappings[i] = codes->code[i].mapping;
		codes->mappings[i].path = codes->code[i].path;
	}
	fclose(maps);
	*ret_code = codes;
	return 0;

out_free:
	if (maps)
		fclose(maps);
	mt_capture_code_free(codes);
	return err;
}

void mt_capture_code_free(struct mt_capture_code *codes)
{
	size_t i;

	if (!codes)
		return;
	for (i = 0; i < codes->n; i++) {
		mt_cfi_free(codes->code[i].cfi);
		free(codes->code[i].path);
	}
	free(codes->code);
	free(codes->mappings);
	free(codes);
}

size_t mt_capture_code_mappings(const struct mt_capture_code *codes,
				const struct mt_oracle_mapping **ret_mappings)
{
	*ret_mappings = codes->mappings;
	return codes->n;
}

bool mt_capture_find(void *arg, const struct mt_stack *stack, uint64_t addr,
		     struct mt_unwind_code *ret_code)
{
	const struct mt_capture_code *codes = arg;
	size_t i;

	(void)stack;
	for (i = 0; i < codes->n; i++) {
		if (addr < codes->code[i].mapping.start || addr >= codes->code[i].mapping.end)
			continue;
		ret_code->cfi = codes->code[i].cfi;
		ret_code->bias = codes->code[i].bias;
		ret_code->placement = (uint32_t)i;
		ret_code->until = UINT64_MAX;
		return true;
	}
	return false;
}
