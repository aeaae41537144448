#include "record/probe_site.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <unistd.h>

#include "record/allocators.h"

/* A prologue as objdump prints it, and where the probe belongs. */
struct prologue {
	const char *what;
	const char *bytes;
	size_t n;
	uint32_t forward;
	bool emulated;
};

/* A string literal with zeros in it, and its size. */
#define CODE(bytes) bytes, sizeof(bytes) - 1

static const struct prologue prologues[] = {
	{ "glibc 2.36 malloc: push %r12; push %rbp; push %rbx",
	  CODE("\x41\x54\x55\x53\x48\x89\xfb\x48\x83\xec\x10"), 0, true },
	{ "glibc 2.36 free: test %rdi,%rdi; je",
	  CODE("\x48\x85\xff\x0f\x84\x1f\x01\x00\x00\x55"), 3, true },
	{ "glibc 2.36 posix_memalign: cmpb $0,x(%rip); push %r12",
	  CODE("\x80\x3d\x01\x02\x14\x00\x00\x41\x54\x49\x89\xd4"), 7, true },
	{ "CET: endbr64; test %rdi,%rdi; je",
	  CODE("\xf3\x0f\x1e\xfa\x48\x85\xff\x74\x1b\xc3"), 7, true },
	{ "endbr64; jmp", CODE("\xf3\x0f\x1e\xfa\xe9\x10\x20\x30\x00"), 4, true },
	{ "xor %eax,%eax; cmp $x,%rdi; ja",
	  CODE("\x31\xc0\x48\x81\xff\x00\x10\x00\x00\x77\x10"), 9, true },
	{ "mov %fs:0x10,%rax; push %rbx",
	  CODE("\x64\x48\x8b\x04\x25\x10\x00\x00\x00\x53"), 9, true },
	{ "lea x(%rip),%r10; nop; call",
	  CODE("\x4c\x8d\x15\x01\x00\x00\x00\x90\xe8\x00\x00\x00\x00"), 7, true },
	{ "nopw 0(%rax,%rax); push %rbp", CODE("\x66\x0f\x1f\x44\x00\x00\x55"), 6, true },
	{ "push %rbp at once", CODE("\x55\x48\x89\xe5"), 0, true },
	{ "mov %rdi,%rsi changes an argument", CODE("\x48\x89\xfe\x55"), 0, false },
	{ "mov %rdi,%rbx changes the caller's register", CODE("\x48\x89\xfb\x55"), 0, false },
	{ "xor %edi,%edi changes an argument", CODE("\x31\xff\x55"), 0, false },
	{ "xor %ecx,%ecx changes an argument", CODE("\x31\xc9\x55"), 0, false },
	{ "mov $1,%r8d changes an argument", CODE("\x41\xb8\x01\x00\x00\x00\x55"), 0, false },
	{ "lea x(%rip),%rdx changes an argument",
	  CODE("\x48\x8d\x15\x01\x00\x00\x00\x55"), 0, false },
	{ "sub $8,%rsp moves the stack", CODE("\x48\x83\xec\x08\x53"), 0, false },
	{ "mov %rax,x(%rip) writes memory", CODE("\x48\x89\x05\x01\x00\x00\x00\x55"), 0, false },
	{ "add $1,(%rdi) writes memory", CODE("\x48\x83\x07\x01\x55"), 0, false },
	{ "ret comes first", CODE("\x31\xc0\xc3\x55"), 0, false },
	{ "jmp *%rax comes first", CODE("\x31\xc0\xff\xe0\x55"), 0, false },
	{ "jrcxz is not emulated", CODE("\x31\xc0\xe3\x10\x55"), 0, false },
	{ "test %rdi,%rdi; test %rdi,%rdi; je back to the second",
	  CODE("\x48\x85\xff\x48\x85\xff\x74\xfb\xc3"), 0, false },
	{ "je back to itself is a loop through the site",
	  CODE("\x48\x85\xff\x74\xfe\xc3"), 0, false },
	{ "a later branch back to the site",
	  CODE("\x48\x85\xff\x74\x01\xc3\x55\xeb\xfa"), 0, false },
	{ "a later branch back to the entry goes through the site anyway",
	  CODE("\x48\x85\xff\x74\x01\xc3\x55\xeb\xf7"), 3, true },
	{ "undefined opcode", CODE("\x06\x55"), 0, false },
	{ "cut instruction", CODE("\x48\x85"), 0, false },
	{ "more than 32 bytes of cmp",
	  CODE("\x48\x81\xff\x00\x10\x00\x00\x48\x81\xff\x00\x10\x00\x00"
	       "\x48\x81\xff\x00\x10\x00\x00\x48\x81\xff\x00\x10\x00\x00"
	       "\x48\x81\xff\x00\x10\x00\x00\x55"), 0, false },
};

static void check(const struct prologue *list, size_t n)
{
	struct mt_probe_site site;
	size_t i;

	for (i = 0; i < n; i++) {
		site = mt_probe_site_find((const uint8_t *)list[i].bytes, list[i].n, 0);
		cr_expect_eq(site.forward, list[i].forward, "%s: %u", list[i].what, site.forward);
		cr_expect_eq(site.emulated, list[i].emulated, "%s", list[i].what);
	}
}

Test(probe_site, known_prologues)
{
	check(prologues, MT_ARRAY_SIZE(prologues));
}

/* Of glibc, musl, jemalloc, mimalloc, tcmalloc and of what compilers make with CET. */
static const struct prologue allocators[] = {
#include "tests/unit/prologues.h"
};

Test(probe_site, prologues_of_allocators)
{
	check(allocators, MT_ARRAY_SIZE(allocators));
}

/* A far branch elsewhere in the file that leads into the prologue keeps the probe at the entry. */
Test(probe_site, far_branches_count)
{
	static uint8_t code[4096];
	int32_t offset;

	memset(code, 0xcc, sizeof(code));
	memcpy(code + 64, "\x48\x85\xff\x74\x01\xc3", 6);
	cr_assert_eq(mt_probe_site_find(code, sizeof(code), 64).forward, 3);
	code[3000] = 0xe9;
	offset = 67 - 3005;
	memcpy(code + 3001, &offset, 4);
	cr_assert_eq(mt_probe_site_find(code, sizeof(code), 64).forward, 0);
	offset = 64 - 3005;
	memcpy(code + 3001, &offset, 4);
	cr_assert_eq(mt_probe_site_find(code, sizeof(code), 64).forward, 3);
	code[3000] = 0x0f;
	code[3001] = 0x85;
	offset = 65 - 3006;
	memcpy(code + 3002, &offset, 4);
	cr_assert_eq(mt_probe_site_find(code, sizeof(code), 64).forward, 0);
}

/* Wherever it lies: code is read in chunks, and a branch may begin in one and end in the next. */
Test(probe_site, far_branches_count_at_every_place)
{
	static uint8_t code[3 * 65536 + 40];
	size_t at, i;
	int32_t way;

	memset(code, 0xcc, sizeof(code));
	memcpy(code + 64, "\x48\x85\xff\x74\x01\xc3", 6);
	for (i = 0; i < 2; i++) {
		for (at = 300; at + 6 <= sizeof(code); at++) {
			if (at % 65536 > 30 && at % 65536 < 65516)
				continue;
			way = 67 - (int32_t)(at + 6);
			code[at] = i ? 0x0f : 0xcc;
			code[at + 1] = i ? 0x84 : 0xe8;
			memcpy(code + at + 2, &way, 4);
			cr_assert_eq(mt_probe_site_find(code, sizeof(code), 64).forward, 0,
				     "%zu", at);
			memset(code + at, 0xcc, 6);
		}
	}
	cr_assert_eq(mt_probe_site_find(code, sizeof(code), 64).forward, 3);
}

/* More code than one file may have in memory: its probes are judged like others. */
Test(probe_site, code_that_does_not_fit_into_memory)
{
	static const uint64_t size = 100u << 20, branch = 90u << 20;
	const Elf64_Ehdr ehdr = {
		.e_ident = ELFMAG "\2\1\1", .e_machine = EM_X86_64, .e_phoff = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
	};
	const Elf64_Phdr phdr = { .p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = size };
	struct mt_probe probes[] = {
		{ .offset = 0x1000 }, { .offset = 0x2000 }, { .offset = 0x3000 },
		{ .offset = 0x4000, .role = MT_PROBE_RET_SITE }, { .offset = size },
	};
	const int32_t way = 0x2003 - (int32_t)(branch + 5);
	FILE *stream = tmpfile();
	int fd;

	cr_assert_not_null(stream);
	fd = fileno(stream);
	cr_assert_eq(ftruncate(fd, (off_t)size), 0);
	cr_assert_eq(pwrite(fd, &ehdr, sizeof(ehdr), 0), sizeof(ehdr));
	cr_assert_eq(pwrite(fd, &phdr, sizeof(phdr), sizeof(ehdr)), sizeof(phdr));
	cr_assert_eq(pwrite(fd, "\x48\x85\xff\x74\x01\xc3", 6, 0x1000), 6);
	cr_assert_eq(pwrite(fd, "\x48\x85\xff\x74\x01\xc3", 6, 0x2000), 6);
	cr_assert_eq(pwrite(fd, "\x55\xc3", 2, 0x3000), 2);
	cr_assert_eq(pwrite(fd, "\xc3", 1, 0x4000), 1);
	cr_assert_eq(pwrite(fd, "\xe9", 1, (off_t)branch), 1);
	cr_assert_eq(pwrite(fd, &way, sizeof(way), (off_t)branch + 1), sizeof(way));
	mt_probe_sites_choose(fd, true, probes, MT_ARRAY_SIZE(probes));
	cr_expect_eq(probes[0].offset, 0x1003);
	cr_expect_eq(probes[0].forward, 3);
	cr_expect_eq(probes[0].step, MT_STEP_EMULATED);
	/* A branch leads to where it would go. */
	cr_expect_eq(probes[1].offset, 0x2000);
	cr_expect_eq(probes[1].forward, 0);
	cr_expect_eq(probes[1].step, MT_STEP_SINGLE);
	cr_expect_eq(probes[2].offset, 0x3000);
	cr_expect_eq(probes[2].step, MT_STEP_EMULATED);
	cr_expect_eq(probes[3].offset, 0x4000);
	cr_expect_eq(probes[3].step, MT_STEP_SINGLE);
	/* No code. */
	cr_expect_eq(probes[4].step, MT_STEP_UNKNOWN);
	fclose(stream);
}
