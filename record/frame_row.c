#include "record/frame_row.h"

#include <elf.h>

#include "bpf/mt_ring.h"
#include "common/dwarf_cfa.h"
#include "record/remote_memory.h"

#define PE_UDATA4 0x03
#define PE_PCREL_SDATA4 0x1b
#define PE_DATAREL_SDATA4 0x3b

#define ENTRIES_MAX (1u << 24)
#define RECORD_MAX 4096u	/* bytes of a CIE or FDE; longer ones are left out */
#define STATES_MAX 4u

/* DWARF numbers of registers: x86-64 psABI, figure 3.36. */
#define REG_RBP 6
#define REG_RSP 7
#define REG_RIP 16

/* One record's bytes; taken one after the other. ok goes false at the first beyond the end. */
struct bytes {
	uint8_t data[RECORD_MAX];
	uint32_t pos;
	uint32_t len;
	uint64_t addr;	/* of data */
	bool ok;
};

static uint8_t take(struct bytes *b)
{
	if (b->pos >= b->len) {
		b->ok = false;
		return 0;
	}
	return b->data[b->pos++];
}

static void skip(struct bytes *b, uint64_t n)
{
	if (n > b->len - b->pos)
		b->ok = false;
	else
		b->pos += (uint32_t)n;
}

static uint64_t take_fixed(struct bytes *b, unsigned int size)
{
	uint64_t value = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		value |= (uint64_t)take(b) << (8 * i);
	return value;
}

static uint64_t take_leb(struct bytes *b, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = take(b);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~0ull << shift;
	return value;
}

/* The record at addr: what follows its length. */
static bool load(struct mt_remote_memory *memory, uint64_t addr, struct bytes *ret_bytes)
{
	uint32_t length;

	if (!mt_remote_memory_read(memory, addr, &length, 4) || length < 4 || length > RECORD_MAX ||
	    !mt_remote_memory_read(memory, addr + 4, ret_bytes->data, length))
		return false;
	ret_bytes->addr = addr + 4;
	ret_bytes->len = length;
	ret_bytes->pos = 0;
	ret_bytes->ok = true;
	return true;
}

bool mt_frame_table_find(struct mt_remote_memory *memory, uint64_t base,
			 struct mt_frame_table *ret_table)
{
	uint64_t bias = 0, header = 0;
	Elf64_Phdr phdr;
	Elf64_Ehdr ehdr;
	struct {
		uint8_t encodings[4];
		int32_t frames;
		uint32_t n;
	} head;
	uint16_t i;

	if (!mt_remote_memory_read(memory, base, &ehdr, sizeof(ehdr)) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_machine != EM_X86_64 ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_phentsize != sizeof(phdr))
		return false;
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (!mt_remote_memory_read(memory, base + ehdr.e_phoff + (uint64_t)i * sizeof(phdr),
					   &phdr, sizeof(phdr)))
			return false;
		if (phdr.p_type == PT_LOAD && phdr.p_offset == 0)
			bias = base - phdr.p_vaddr;
		else if (phdr.p_type == PT_GNU_EH_FRAME)
			header = phdr.p_vaddr;
	}
	if (!header || !mt_remote_memory_read(memory, header + bias, &head, sizeof(head)) ||
	    head.encodings[0] != 1 || head.encodings[1] != PE_PCREL_SDATA4 ||
	    head.encodings[2] != PE_UDATA4 || head.encodings[3] != PE_DATAREL_SDATA4 ||
	    head.n > ENTRIES_MAX)
		return false;
	ret_table->header = header + bias;
	ret_table->entries = ret_table->header + sizeof(head);
	ret_table->n = head.n;
	return true;
}

struct entry {
	int32_t start;
	int32_t fde;
};

/* The last entry that begins at pc or before. */
static bool search(struct mt_remote_memory *memory, const struct mt_frame_table *table, uint64_t pc,
		   uint64_t *ret_fde)
{
	uint32_t low = 0, high = table->n, middle;
	struct entry entry;
	uint64_t at;

	while (low < high) {
		middle = low + (high - low) / 2;
		at = table->entries + (uint64_t)middle * sizeof(entry);
		if (!mt_remote_memory_read(memory, at, &entry, sizeof(entry)))
			return false;
		if ((int64_t)entry.start <= (int64_t)(pc - table->header)) {
			low = middle + 1;
			*ret_fde = table->header + (uint64_t)(int64_t)entry.fde;
		} else {
			high = middle;
		}
	}
	return low > 0;
}

enum rule {
	AS_IT_WAS,
	AT_OFFSET,	/* from the CFA */
	UNDEFINED,
	OTHER,
};

struct place {
	uint8_t rule;
	int64_t offset;
};

struct state {
	uint64_t cfa_reg;	/* OTHER_CFA: an expression */
	int64_t cfa_offset;
	struct place rbp;
	struct place rip;
	bool other;	/* there is more to it than a row can say */
};

#define OTHER_CFA UINT64_MAX

/* A CIE and one FDE of it. */
struct program {
	struct bytes cie;
	struct bytes fde;
	uint64_t code_align;
	int64_t data_align;
	uint64_t start;
	struct state initial;
	struct state states[STATES_MAX];
	uint32_t n_states;
};

static void set_place(struct state *state, uint64_t reg, enum rule rule, int64_t offset)
{
	const struct place place = { .rule = (uint8_t)rule, .offset = offset };

	if (reg == REG_RBP)
		state->rbp = place;
	else if (reg == REG_RIP)
		state->rip = place;
	else if (reg == REG_RSP)
		state->other = true;
}

static void restore_place(struct program *program, struct state *state, uint64_t reg)
{
	if (reg == REG_RBP)
		state->rbp = program->initial.rbp;
	else if (reg == REG_RIP)
		state->rip = program->initial.rip;
	else if (reg == REG_RSP)
		state->other = true;
}

static int64_t scaled(const struct program *program, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)program->data_align);
}

/* Instructions about the CFA; false: op is none of them. */
static bool run_cfa(struct program *program, struct bytes *b, struct state *state, uint8_t op)
{
	switch (op) {
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
		state->cfa_reg = take_leb(b, false);
		state->cfa_offset = op == CFA_DEF_CFA ? (int64_t)take_leb(b, false) :
						 scaled(program, take_leb(b, true));
		return true;
	case CFA_DEF_CFA_REGISTER:
		state->cfa_reg = take_leb(b, false);
		return true;
	case CFA_DEF_CFA_OFFSET:
		state->cfa_offset = (int64_t)take_leb(b, false);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		state->cfa_offset = scaled(program, take_leb(b, true));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		state->cfa_reg = OTHER_CFA;
		skip(b, take_leb(b, false));
		return true;
	}
	return false;
}

/* Those with no bits of operand in the first byte, but for advances. */
static void run_extended(struct program *program, struct bytes *b, struct state *state, uint8_t op)
{
	uint64_t reg, factor;

	if (run_cfa(program, b, state, op))
		return;
	switch (op) {
	case CFA_NOP:
		return;
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
		reg = take_leb(b, false);
		factor = take_leb(b, op == CFA_OFFSET_EXTENDED_SF);
		set_place(state, reg, AT_OFFSET, scaled(program, factor));
		return;
	case CFA_RESTORE_EXTENDED:
		restore_place(program, state, take_leb(b, false));
		return;
	case CFA_UNDEFINED:
		set_place(state, take_leb(b, false), UNDEFINED, 0);
		return;
	case CFA_SAME_VALUE:
		set_place(state, take_leb(b, false), AS_IT_WAS, 0);
		return;
	case CFA_REGISTER:
		set_place(state, take_leb(b, false), OTHER, 0);
		take_leb(b, false);
		return;
	case CFA_REMEMBER_STATE:
		if (program->n_states == STATES_MAX)
			b->ok = false;
		else
			program->states[program->n_states++] = *state;
		return;
	case CFA_RESTORE_STATE:
		if (!program->n_states)
			b->ok = false;
		else
			*state = program->states[--program->n_states];
		return;
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		set_place(state, take_leb(b, false), OTHER, 0);
		skip(b, take_leb(b, false));
		return;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		set_place(state, take_leb(b, false), OTHER, 0);
		take_leb(b, false);
		return;
	case CFA_ARGS_SIZE:
		take_leb(b, false);
		return;
	default:
		b->ok = false;
	}
}

/* Instructions up to where they are about code behind pc. */
static bool run(struct program *program, struct bytes *b, struct state *state, uint64_t pc)
{
	uint64_t at = program->start;
	uint8_t op, operand;

	while (b->ok && b->pos < b->len) {
		op = take(b);
		operand = op & ~CFA_PRIMARY;
		switch (op & CFA_PRIMARY) {
		case CFA_ADVANCE_LOC:
			at += operand * program->code_align;
			break;
		case CFA_OFFSET:
			set_place(state, operand, AT_OFFSET, scaled(program, take_leb(b, false)));
			break;
		case CFA_RESTORE:
			restore_place(program, state, operand);
			break;
		default:
			if (op >= CFA_ADVANCE_LOC1 && op <= CFA_ADVANCE_LOC4)
				at += take_fixed(b, 1u << (op - CFA_ADVANCE_LOC1)) *
				      program->code_align;
			else
				run_extended(program, b, state, op);
		}
		if (at > pc)
			return b->ok;
	}
	return b->ok;
}

/* Up to its instructions. */
static bool read_cie(struct program *program)
{
	struct bytes *b = &program->cie;
	uint64_t end = 0, i, n;
	const char *augmentation;
	uint8_t version, encoding;

	if (take_fixed(b, 4) != 0)
		return false;
	version = take(b);
	augmentation = (const char *)b->data + b->pos;
	n = strnlen(augmentation, b->len - b->pos);
	skip(b, n + 1);
	program->code_align = take_leb(b, false);
	program->data_align = (int64_t)take_leb(b, true);
	if (!b->ok || (version != 1 && version != 3) || *augmentation != 'z' ||
	    (version == 1 ? take(b) : take_leb(b, false)) != REG_RIP)
		return false;
	n = take_leb(b, false);
	if (!b->ok || n > b->len - b->pos)
		return false;
	end = b->pos + n;
	for (i = 1; augmentation[i]; i++) {
		encoding = augmentation[i] == 'R' || augmentation[i] == 'L' ||
			   augmentation[i] == 'P' ? take(b) : 0;
		/* A signal's frame (S) and whatever else there may be have no rows. */
		if (augmentation[i] == 'R' ? encoding != PE_PCREL_SDATA4 :
		    augmentation[i] != 'L' && augmentation[i] != 'P')
			return false;
		if (augmentation[i] == 'P')
			skip(b, (encoding & 0x07) == 0x03 ? 4 : 8);
	}
	b->pos = (uint32_t)end;
	return b->ok;
}

/* Up to its instructions; false: pc is not in its function. */
static bool read_fde(struct program *program, uint64_t pc)
{
	struct bytes *b = &program->fde;
	uint64_t size;

	b->pos = 4;
	program->start = b->addr + 4 + (uint64_t)(int64_t)(int32_t)take_fixed(b, 4);
	size = take_fixed(b, 4);
	skip(b, take_leb(b, false));
	return b->ok && pc >= program->start && pc - program->start < size;
}

static bool as_row(const struct state *state, uint64_t *ret_row)
{
	uint64_t saved = 0, base;

	if (state->rip.rule == UNDEFINED) {
		*ret_row = MT_FRAME_END;
		return true;
	}
	if (state->other || state->rip.rule != AT_OFFSET || state->rip.offset != -8 ||
	    state->cfa_offset != (int32_t)state->cfa_offset)
		return false;
	if (state->cfa_reg == REG_RSP)
		base = MT_FRAME_RSP;
	else if (state->cfa_reg == REG_RBP)
		base = MT_FRAME_RBP;
	else
		return false;
	if (state->rbp.rule == AT_OFFSET) {
		saved = 0 - (uint64_t)state->rbp.offset;
		if (saved % 8 || !saved || saved / 8 >= 1u << 24)
			return false;
		saved /= 8;
	} else if (state->rbp.rule != AS_IT_WAS) {
		return false;
	}
	*ret_row = MT_FRAME_ROW(base, state->cfa_offset, saved);
	return true;
}

bool mt_frame_row(struct mt_remote_memory *memory, const struct mt_frame_table *table, uint64_t pc,
		  uint64_t *ret_row)
{
	struct program program;
	struct state state = {};
	uint64_t fde;
	uint32_t distance;

	if (!search(memory, table, pc, &fde) || !load(memory, fde, &program.fde))
		return false;
	distance = (uint32_t)take_fixed(&program.fde, 4);
	if (!distance || distance > fde + 4 || !load(memory, fde + 4 - distance, &program.cie) ||
	    !read_cie(&program) || !read_fde(&program, pc))
		return false;
	program.n_states = 0;
	program.initial = state;
	if (!run(&program, &program.cie, &state, UINT64_MAX))
		return false;
	program.initial = state;
	return run(&program, &program.fde, &state, pc) && as_row(&state, ret_row);
}
