#include "record/probe_site.h"

#include "record/allocators.h"
#include "record/elf_image.h"
#include "record/x86_insn.h"

#define FORWARD_MAX 32
#define INSN_MAX 16u		/* bytes; none is longer */
#define SHORT_BRANCH_REACH 130	/* of a two-byte branch: 127 forward, 128 back */

/* Opcode bytes of an instruction whose length is known. */
struct opcode {
	unsigned int rex;
	unsigned int op;	/* 0x0f00 + the second byte for the two-byte map */
	unsigned int modrm;	/* of what may be one; only looked at where it is */
	bool segment;		/* fs or gs */
};

/* false: it has a prefix that nothing we pass over needs. */
static bool read_opcode(const uint8_t *code, size_t len, struct opcode *ret)
{
	struct opcode opcode = { 0 };
	size_t i = 0;

	if (code[i] == 0x64 || code[i] == 0x65) {
		opcode.segment = true;
		i++;
	}
	if (i < len && code[i] >> 4 == 4)
		opcode.rex = code[i++];
	if (i >= len)
		return false;
	opcode.op = code[i++];
	if (opcode.op == 0x0f) {
		if (i >= len)
			return false;
		opcode.op = 0x0f00 | code[i++];
	}
	opcode.modrm = i < len ? code[i] : 0;
	*ret = opcode;
	return true;
}

/* rcx, rdx, rsi, rdi, r8, r9 hold arguments; rbx, rsp, rbp, r12 to r15 are the caller's. */
static bool is_scratch(unsigned int reg)
{
	return reg == 0 || reg == 10 || reg == 11;
}

/* Does the reg field, or the rm field of a register operand, name a scratch register? */
static bool reg_is_scratch(const struct opcode *opcode)
{
	return is_scratch((opcode->modrm >> 3 & 7) | (opcode->rex & 4 ? 8 : 0));
}

static bool rm_is_scratch(const struct opcode *opcode)
{
	return opcode->modrm >> 6 == 3 &&
	       is_scratch((opcode->modrm & 7) | (opcode->rex & 1 ? 8 : 0));
}

/* arch/x86/kernel/uprobes.c: branch_setup_xol_ops(), push_setup_xol_ops(). */
static bool is_emulated(const uint8_t *code, const struct mt_x86_insn *insn)
{
	size_t len = insn->len;

	if (insn->flow == MT_X86_CALL)
		return code[0] == 0xe8;
	if (insn->flow == MT_X86_JUMP)
		return code[0] == 0xe9 || code[0] == 0xeb;
	if (insn->flow == MT_X86_BRANCH)	/* loop and jrcxz are not */
		return code[0] >> 4 == 7 || (code[0] == 0x0f && code[1] >> 4 == 8);
	if (len == 1)
		return code[0] >> 3 == 0x50 >> 3 || code[0] == 0x90;
	return len == 2 && code[0] == 0x41 && code[1] >> 3 == 0x50 >> 3;
}

static bool is_endbr_or_nop(const uint8_t *code, size_t len)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t i = 0;

	if (len == sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		return true;
	while (i < len && code[i] == 0x66)
		i++;
	return i + 1 < len && code[i] == 0x0f && code[i + 1] == 0x1f;
}

/* cmp and test, of registers, memory and immediates: they read only. */
static bool compares(const struct opcode *opcode)
{
	unsigned int op = opcode->op, group = opcode->modrm >> 3 & 7;

	if ((op >= 0x38 && op <= 0x3d) || op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9)
		return true;
	if (op == 0x80 || op == 0x81 || op == 0x83)
		return group == 7;
	return (op == 0xf6 || op == 0xf7) && group < 2;
}

/* mov, movzx, movsx, movsxd, lea and xor that write a scratch register and nothing else. */
static bool writes_scratch(const struct opcode *opcode)
{
	switch (opcode->op) {
	case 0x8b: case 0x8d: case 0x33: case 0x63:
	case 0x0fb6: case 0x0fb7: case 0x0fbe: case 0x0fbf:
		return reg_is_scratch(opcode);
	case 0x89: case 0x31: case 0xc7:
		return rm_is_scratch(opcode);
	}
	if (opcode->op >= 0xb8 && opcode->op <= 0xbf)
		return is_scratch((opcode->op & 7) | (opcode->rex & 1 ? 8 : 0));
	return false;
}

static bool may_pass(const uint8_t *code, const struct mt_x86_insn *insn)
{
	struct opcode opcode;

	if (insn->flow != MT_X86_NEXT)
		return false;
	if (is_endbr_or_nop(code, insn->len))
		return true;
	return read_opcode(code, insn->len, &opcode) &&
	       (compares(&opcode) || writes_scratch(&opcode));
}

/* Can the branch at code[i], if there is one, lead to (from, to]? */
static bool branch_leads(const uint8_t *code, size_t len, size_t i, size_t from, size_t to)
{
	struct mt_x86_insn insn;
	int64_t target;

	if (!mt_x86_decode(code + i, len - i, &insn) ||
	    (insn.flow != MT_X86_CALL && insn.flow != MT_X86_JUMP && insn.flow != MT_X86_BRANCH))
		return false;
	target = (int64_t)(i + insn.len) + insn.offset;
	return target > (int64_t)from && target <= (int64_t)to;
}

/*
 * Is any byte in (from, to] the target of a branch? Near by, instructions are followed, and where
 * that fails every byte could start a branch; far away every byte is tried, for long
 * branches alone: four bytes rarely look like a way here by chance.
 */
static bool is_branch_target(const uint8_t *code, size_t len, size_t from, size_t to)
{
	size_t near_end = to + SHORT_BRANCH_REACH < len ? to + SHORT_BRANCH_REACH : len, i = from;
	struct mt_x86_insn insn;

	while (i < near_end) {
		if (branch_leads(code, len, i, from, to))
			return true;
		i += mt_x86_decode(code + i, len - i, &insn) ? insn.len : 1;
	}
	for (i = 0; i + 5 <= len; i++) {
		bool jump = code[i] == 0xe9 || code[i] == 0xe8;
		bool jcc = code[i] == 0x0f && code[i + 1] >> 4 == 8;

		if ((jump || jcc) && branch_leads(code, len, i, from, to))
			return true;
	}
	return false;
}

struct mt_probe_site mt_probe_site_find(const uint8_t *code, size_t len, size_t at)
{
	struct mt_probe_site entry = { 0, false }, site = { 0, false };
	struct mt_x86_insn insn;
	size_t i = at;

	while (i < len && i - at < FORWARD_MAX && mt_x86_decode(code + i, len - i, &insn)) {
		if (is_emulated(code + i, &insn)) {
			site.forward = (uint32_t)(i - at);
			site.emulated = true;
			break;
		}
		if (!may_pass(code + i, &insn))
			break;
		i += insn.len;
	}
	if (site.forward && is_branch_target(code, len, at, at + site.forward))
		return entry;
	return site;
}

/* The executable bytes of the file around an offset: all, or one instruction's. */
static const uint8_t *code_at(const struct mt_elf_image *image, uint64_t offset, bool all,
			      size_t *ret_len, size_t *ret_at)
{
	size_t i;

	for (i = 0; i < image->n_phdrs; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X) ||
		    offset < phdr->p_offset || offset - phdr->p_offset >= phdr->p_filesz ||
		    phdr->p_offset > image->size || phdr->p_filesz > image->size - phdr->p_offset)
			continue;
		*ret_at = all ? offset - phdr->p_offset : 0;
		*ret_len = phdr->p_filesz - (offset - phdr->p_offset);
		if (all)
			*ret_len = phdr->p_filesz;
		else if (*ret_len > INSN_MAX)
			*ret_len = INSN_MAX;
		return mt_elf_image_bytes(image, offset - *ret_at, *ret_len);
	}
	return NULL;
}

void mt_probe_sites_choose(int fd, bool move, struct mt_probe *probes, size_t n)
{
	struct mt_elf_image image;
	struct mt_x86_insn insn;
	const uint8_t *code;
	size_t i, len, at;

	if (mt_elf_image_open(fd, &image))
		return;
	for (i = 0; i < n && image.machine == EM_X86_64; i++) {
		/* The others sit where an instruction of a certain kind is. */
		bool moves = move && probes[i].role != MT_PROBE_RET_SITE &&
			     probes[i].role != MT_PROBE_LEAVE;

		code = code_at(&image, probes[i].offset, moves, &len, &at);
		if (!code)
			continue;
		if (moves)
			probes[i].forward = mt_probe_site_find(code, len, at).forward;
		at += probes[i].forward;
		probes[i].offset += probes[i].forward;
		probes[i].step = mt_x86_decode(code + at, len - at, &insn) &&
				 is_emulated(code + at, &insn) ? MT_STEP_EMULATED : MT_STEP_SINGLE;
	}
	mt_elf_image_close(&image);
}
