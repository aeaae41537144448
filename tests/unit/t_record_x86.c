#include "record/x86_insn.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *bytes;
	uint8_t n;
	uint8_t len;
	uint8_t flow;
	int32_t offset;
} known[] = {
	{ "\xf3\x0f\x1e\xfa", 4, 4, MT_X86_NEXT, 0 },			/* endbr64 */
	{ "\x41\x54", 2, 2, MT_X86_NEXT, 0 },				/* push %r12 */
	{ "\x48\x83\xec\x10", 4, 4, MT_X86_NEXT, 0 },			/* sub $16, %rsp */
	{ "\x80\x3d\x44\x33\x22\x11\x00", 7, 7, MT_X86_NEXT, 0 },	/* cmpb $0, x(%rip) */
	{ "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, 10, MT_X86_NEXT, 0 },	/* movabs */
	{ "\x66\xb8\x34\x12", 4, 4, MT_X86_NEXT, 0 },			/* mov $x, %ax */
	{ "\xf6\xc1\x01", 3, 3, MT_X86_NEXT, 0 },			/* test $1, %cl */
	{ "\xf6\xd1", 2, 2, MT_X86_NEXT, 0 },				/* not %cl */
	{ "\x48\xf7\xc7\x01\x00\x00\x00", 7, 7, MT_X86_NEXT, 0 },	/* test $1, %rdi */
	{ "\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9, 9, MT_X86_NEXT, 0 },	/* mov %fs:0x28 */
	{ "\xc5\xf8\x77", 3, 3, MT_X86_NEXT, 0 },			/* vzeroupper */
	{ "\xc5\xfe\x6f\x06", 4, 4, MT_X86_NEXT, 0 },			/* vmovdqu */
	{ "\xc4\xe2\x7d\x78\xc0", 5, 5, MT_X86_NEXT, 0 },		/* vpbroadcastb */
	{ "\x62\xe1\xfe\x28\x6f\x06", 6, 6, MT_X86_NEXT, 0 },		/* vmovdqu64 */
	{ "\x62\xb3\x7d\x20\x3f\xc0\x00", 7, 7, MT_X86_NEXT, 0 },	/* vpcmpeqb, with 8 bits */
	{ "\x66\x0f\x3a\x0f\xc1\x08", 6, 6, MT_X86_NEXT, 0 },		/* palignr */
	{ "\xf0\x0f\xb1\x0a", 4, 4, MT_X86_NEXT, 0 },			/* lock cmpxchg */
	{ "\xc8\x10\x00\x00", 4, 4, MT_X86_NEXT, 0 },			/* enter */
	{ "\xe8\xfb\xff\xff\xff", 5, 5, MT_X86_CALL, -5 },
	{ "\xe9\x00\x01\x00\x00", 5, 5, MT_X86_JUMP, 256 },
	{ "\xeb\xfe", 2, 2, MT_X86_JUMP, -2 },
	{ "\xf2\xe9\x00\x01\x00\x00", 6, 6, MT_X86_JUMP, 256 },		/* bnd jmp */
	{ "\x74\x10", 2, 2, MT_X86_BRANCH, 16 },
	{ "\x0f\x84\xf8\x01\x00\x00", 6, 6, MT_X86_BRANCH, 504 },
	{ "\xff\x25\x04\x00\x00\x00", 6, 6, MT_X86_JUMP_INDIRECT, 4 },	/* jmp *4(%rip) */
	{ "\xff\xe0", 2, 2, MT_X86_JUMP_INDIRECT, 0 },
	{ "\x3e\xff\xe0", 3, 3, MT_X86_JUMP_INDIRECT, 0 },		/* notrack jmp *%rax */
	{ "\x41\xff\xd5", 3, 3, MT_X86_CALL_INDIRECT, 0 },
	{ "\xc3", 1, 1, MT_X86_RETURN, 0 },
	{ "\xf3\xc3", 2, 2, MT_X86_RETURN, 0 },
	{ "\xc2\x08\x00", 3, 3, MT_X86_RETURN, 0 },
	{ "\x0f\x0b", 2, 2, MT_X86_STOP, 0 },				/* ud2 */
	{ "\xf4", 1, 1, MT_X86_STOP, 0 },				/* hlt */
	{ "\xcc", 1, 1, MT_X86_STOP, 0 },				/* int3 */
};

Test(x86_insn, lengths_and_targets_of_known_instructions)
{
	struct mt_x86_insn insn;
	const uint8_t *code;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(known); i++) {
		code = (const uint8_t *)known[i].bytes;
		cr_assert(mt_x86_decode(code, known[i].n, &insn), "%zu", i);
		cr_assert_eq(insn.len, known[i].len, "%zu: %u", i, insn.len);
		cr_assert_eq(insn.flow, known[i].flow, "%zu: %u", i, insn.flow);
		cr_assert_eq(insn.offset, known[i].offset, "%zu", i);
		/* One byte less is not an instruction. */
		cr_assert_not(mt_x86_decode(code, known[i].n - 1u, &insn) &&
			      insn.len >= known[i].len);
	}
}

Test(x86_insn, what_is_not_valid_in_64_bits_is_refused)
{
	static const char *const bad[] = { "\x06", "\x27", "\x60", "\x9a", "\xce", "\xd4",
					   "\x0f\x04" };
	uint8_t bytes[16];
	struct mt_x86_insn insn;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(bad); i++) {
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, bad[i], strlen(bad[i]));
		cr_assert_not(mt_x86_decode(bytes, sizeof(bytes), &insn), "%zu", i);
	}
	memset(bytes, 0x66, sizeof(bytes));
	cr_assert_not(mt_x86_decode(bytes, sizeof(bytes), &insn));
	cr_assert_not(mt_x86_decode(bytes, 0, &insn));
}

static const uint8_t *map_file(const char *path, size_t *ret_size)
{
	struct stat st;
	void *bytes;
	int fd = open(path, O_RDONLY);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(fstat(fd, &st), 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	cr_assert_neq(bytes, MAP_FAILED);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

static const uint8_t *code_at(const uint8_t *file, uint64_t vaddr, size_t *ret_len)
{
	const Elf64_Ehdr *ehdr = (const void *)file;
	const Elf64_Phdr *phdr = (const void *)(file + ehdr->e_phoff);
	int i;

	for (i = 0; i < ehdr->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD && vaddr >= phdr[i].p_vaddr &&
		    vaddr - phdr[i].p_vaddr < phdr[i].p_filesz) {
			*ret_len = phdr[i].p_filesz - (vaddr - phdr[i].p_vaddr);
			return file + phdr[i].p_offset + (vaddr - phdr[i].p_vaddr);
		}
	}
	return NULL;
}

/* What objdump says of an instruction. */
static int flow_of(const char *text)
{
	static const char *const prefixes[] = { "bnd ", "notrack ", "repz ", "rep " };
	bool indirect = strchr(text, '*') != NULL;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(prefixes); i++)
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			text += strlen(prefixes[i]);
	if (!strncmp(text, "ret", 3))
		return MT_X86_RETURN;
	if (!strncmp(text, "call", 4))
		return indirect ? MT_X86_CALL_INDIRECT : MT_X86_CALL;
	if (!strncmp(text, "jmp", 3))
		return indirect ? MT_X86_JUMP_INDIRECT : MT_X86_JUMP;
	if (*text == 'j')
		return MT_X86_BRANCH;
	return MT_X86_NEXT;
}

/* Instructions of a library that compilers and people wrote, as binutils sees them. */
Test(x86_insn, agrees_with_objdump, .timeout = 120)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	unsigned long long vaddr, before = 0;
	char line[512], text[512] = "";
	size_t size, n = 0, len;
	const uint8_t *file = map_file(libc, &size), *code;
	struct mt_x86_insn insn;
	int at = 0, flow;
	FILE *out;

	snprintf(line, sizeof(line),
		 "objdump -dw --no-show-raw-insn -j .text --start-address=0x80000 "
		 "--stop-address=0xc0000 %s | sed 's/<.*>//'", libc);
	out = popen(line, "r");
	cr_assert_not_null(out);
	while (fgets(line, sizeof(line), out)) {
		if (line[0] != ' ' || sscanf(line, " %llx: %n", &vaddr, &at) != 1) {
			before = 0;
			continue;
		}
		code = before ? code_at(file, before, &len) : NULL;
		/* Where the range cuts one, objdump shows its pieces. */
		if (code && !strstr(text, "(bad)") && vaddr < 0xbfff0) {
			cr_assert(mt_x86_decode(code, len, &insn), "%llx %s", before, text);
			cr_assert_eq(insn.len, vaddr - before, "%llx %s", before, text);
			flow = flow_of(text);
			cr_assert(insn.flow == flow || insn.flow == MT_X86_STOP, "%llx %s", before,
				  text);
			n++;
		}
		before = vaddr;
		memcpy(text, line + at, strlen(line + at) + 1);
	}
	pclose(out);
	cr_assert_gt(n, 50000u);
	munmap((void *)(uintptr_t)file, size);
}
