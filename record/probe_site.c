#include "record/probe_site.h"

#include "record/allocators.h"
#include "record/elf_image.h"
#include "record/x86_insn.h"

#define FORWARD_MAX 32
#define INSN_MAX 16u		/* bytes; none is longer */
#define SHORT_BRANCH_REACH 130	/* of a two-byte branch: 127 forward, 128 back */

#define CHUNK 65536u		/* of code, read at once */
#define CODE_MAX (128u << 20)	/* of a file, searched for branches; other probes stay */

/* A part of a file that is executable, in file offsets. */
struct code {
	const struct mt_elf_image *image;
	uint64_t start;
	uint64_t end;
	uint64_t *left;		/* bytes of the file that may still be searched */
};

/* A way of a probe; it is barred if a branch leads to (from, to]. */
struct move {
	uint64_t from;
	uint64_t to;
	struct mt_probe *probe;
	bool blocked;
};

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

static size_t read_code(const struct code *code, uint64_t offset, uint8_t *ret_bytes, size_t n)
{
	return mt_elf_image_copy(code->image, offset, ret_bytes,
				 n < code->end - offset ? n : code->end - offset);
}

/* Can the branch at code[i], if there is one, lead to (0, to]? */
static bool branch_leads(const uint8_t *code, size_t len, size_t i, size_t to)
{
	struct mt_x86_insn insn;
	int64_t target;

	if (!mt_x86_decode(code + i, len - i, &insn) ||
	    (insn.flow != MT_X86_CALL && insn.flow != MT_X86_JUMP && insn.flow != MT_X86_BRANCH))
		return false;
	target = (int64_t)(i + insn.len) + insn.offset;
	return target > 0 && target <= (int64_t)to;
}

/* The site of the function that these bytes begin, if no branch leads past its start. */
static struct mt_probe_site look(const uint8_t *code, size_t len)
{
	struct mt_probe_site site = { 0, false };
	struct mt_x86_insn insn;
	size_t i = 0;

	while (i < len && i < FORWARD_MAX && mt_x86_decode(code + i, len - i, &insn)) {
		if (is_emulated(code + i, &insn)) {
			site.forward = (uint32_t)i;
			site.emulated = true;
			break;
		}
		if (!may_pass(code + i, &insn))
			break;
		i += insn.len;
	}
	return site;
}

/* Near by, instructions are followed, and where that fails every byte could start a branch. */
static bool is_near_target(const struct code *code, const struct move *move)
{
	uint8_t bytes[FORWARD_MAX + SHORT_BRANCH_REACH + INSN_MAX];
	size_t to = (size_t)(move->to - move->from), i = 0, near_end;
	size_t len = read_code(code, move->from, bytes, to + SHORT_BRANCH_REACH + INSN_MAX);
	struct mt_x86_insn insn;

	near_end = to + SHORT_BRANCH_REACH < len ? to + SHORT_BRANCH_REACH : len;
	while (i < near_end) {
		if (branch_leads(bytes, len, i, to))
			return true;
		i += mt_x86_decode(bytes + i, len - i, &insn) ? insn.len : 1;
	}
	return false;
}

static void block_target(struct move *moves, size_t n, uint64_t target)
{
	size_t i;

	for (i = 0; i < n; i++)
		moves[i].blocked |= target > moves[i].from && target <= moves[i].to;
}

/* Those that a long branch of these bytes leads to, which lie at an offset. */
static void block_targets(struct move *moves, size_t n, const uint8_t *bytes, size_t len,
			  uint64_t offset)
{
	uint64_t low = UINT64_MAX, high = 0, target;
	size_t i, size;
	int32_t way;

	for (i = 0; i < n; i++) {
		low = moves[i].from < low ? moves[i].from : low;
		high = moves[i].to > high ? moves[i].to : high;
	}
	for (i = 0; i < CHUNK && i + 5 <= len; i++) {
		if (bytes[i] == 0xe9 || bytes[i] == 0xe8)
			size = 5;
		else if (bytes[i] == 0x0f && bytes[i + 1] >> 4 == 8 && i + 6 <= len)
			size = 6;
		else
			continue;
		memcpy(&way, bytes + i + size - sizeof(way), sizeof(way));
		target = offset + i + size + (uint64_t)(int64_t)way;
		if (target > low && target <= high)
			block_target(moves, n, target);
	}
}

/*
 * Which moves pass over the target of a branch? Far away every byte is tried, for long branches
 * alone: four bytes rarely look like a way here by chance. Of all moves in one pass, a chunk at a
 * time. What cannot be read may lead anywhere.
 */
static void block_moves(const struct code *code, struct move *moves, size_t n)
{
	uint64_t at = code->start, size = code->end - code->start;
	uint8_t *bytes = size > *code->left ? NULL : malloc(CHUNK + INSN_MAX);
	size_t i, len = 0, want;

	*code->left -= bytes ? size : 0;
	for (i = 0; i < n; i++)
		moves[i].blocked = !bytes || is_near_target(code, &moves[i]);
	for (; bytes && at < code->end; at += CHUNK) {
		want = code->end - at < CHUNK + INSN_MAX ? code->end - at : CHUNK + INSN_MAX;
		len = read_code(code, at, bytes, want);
		if (len < want)
			break;
		block_targets(moves, n, bytes, len, at);
	}
	for (i = 0; i < n; i++)
		moves[i].blocked |= at < code->end;
	free(bytes);
}

struct mt_probe_site mt_probe_site_find(const uint8_t *code, size_t len, size_t at)
{
	const struct mt_elf_image image = { .bytes = code, .size = len };
	uint64_t left = CODE_MAX;
	const struct code all = { .image = &image, .end = len, .left = &left };
	struct mt_probe_site entry = { 0, false }, site = look(code + at, len - at);
	struct move move = { .from = at, .to = at + site.forward };

	if (site.forward)
		block_moves(&all, &move, 1);
	return move.blocked ? entry : site;
}

static bool is_code(const struct mt_elf_image *image, const Elf64_Phdr *phdr)
{
	return phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) &&
	       phdr->p_offset <= image->size && phdr->p_filesz <= image->size - phdr->p_offset;
}

/* Judges a probe; true: it would move, if no branch led there. */
static bool look_at_probe(const struct code *code, bool move, struct mt_probe *probe,
			  struct move *ret_move)
{
	/* The others sit where an instruction of a certain kind is. */
	bool moves = move && probe->role != MT_PROBE_RET_SITE && probe->role != MT_PROBE_LEAVE;
	uint8_t bytes[FORWARD_MAX + INSN_MAX];
	size_t len = read_code(code, probe->offset, bytes, sizeof(bytes));
	struct mt_probe_site site = look(bytes, len);

	if (!len)
		return false;
	probe->step = site.emulated && !site.forward ? MT_STEP_EMULATED : MT_STEP_SINGLE;
	if (!moves || !site.forward)
		return false;
	*ret_move = (struct move){
		.from = probe->offset, .to = probe->offset + site.forward, .probe = probe,
	};
	return true;
}

/* The probes of a segment that have not been judged yet. */
static void choose_in(const struct code *code, bool move, struct mt_probe *probes, size_t n,
		      struct move *moves)
{
	size_t i, n_moves = 0;

	for (i = 0; i < n; i++)
		if (probes[i].step == MT_STEP_UNKNOWN && probes[i].offset >= code->start &&
		    probes[i].offset < code->end)
			n_moves += look_at_probe(code, move, &probes[i], &moves[n_moves]);
	if (n_moves)
		block_moves(code, moves, n_moves);
	for (i = 0; i < n_moves; i++) {
		if (moves[i].blocked)
			continue;
		moves[i].probe->forward = (uint32_t)(moves[i].to - moves[i].from);
		moves[i].probe->offset = moves[i].to;
		moves[i].probe->step = MT_STEP_EMULATED;
	}
}

void mt_probe_sites_choose(int fd, bool move, struct mt_probe *probes, size_t n)
{
	struct mt_elf_image image;
	uint64_t left = CODE_MAX;
	struct move *moves;
	size_t i;

	if (!n || mt_elf_image_open(fd, &image))
		return;
	moves = calloc(n, sizeof(*moves));
	for (i = 0; moves && i < image.n_phdrs && image.ehdr.e_machine == EM_X86_64; i++) {
		const Elf64_Phdr *phdr = &image.phdrs[i];
		struct code code = {
			.image = &image, .start = phdr->p_offset,
			.end = phdr->p_offset + phdr->p_filesz, .left = &left,
		};

		if (is_code(&image, phdr))
			choose_in(&code, move, probes, n, moves);
	}
	free(moves);
	mt_elf_image_close(&image);
}
