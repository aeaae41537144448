#include "record/code_walk.h"

#include "record/elf_frames.h"
#include "record/elf_image.h"
#include "record/elf_imports.h"
#include "record/x86_insn.h"

#define INSNS_MAX 8192u		/* instructions looked at */
#define SEEN_SIZE (2 * INSNS_MAX)
#define PENDING_MAX 1024
#define INSN_MAX 16u		/* bytes; none is longer */

/* What matters of an instruction, on any architecture. */
struct step {
	size_t len;
	enum mt_x86_flow flow;
	bool has_target;
	uint64_t target;	/* virtual address; indirect: of the slot that holds it */
};

struct walker {
	const struct mt_elf_image *image;
	struct mt_code_walk *walk;
	bool into;
	uint64_t start;		/* the function being walked; [0, 0) at first */
	uint64_t end;
	uint64_t pending[PENDING_MAX];
	size_t n_pending;
	uint64_t seen[SEEN_SIZE];	/* hash set of addresses; 0 = empty */
	size_t n_seen;
};

static bool step_x86(const uint8_t *code, size_t len, uint64_t vaddr, struct step *ret_step)
{
	struct mt_x86_insn insn;

	if (!mt_x86_decode(code, len, &insn))
		return false;
	ret_step->len = insn.len;
	ret_step->flow = insn.flow;
	ret_step->has_target = insn.has_memory || insn.flow == MT_X86_CALL ||
			       insn.flow == MT_X86_JUMP || insn.flow == MT_X86_BRANCH;
	ret_step->target = vaddr + insn.len + (uint64_t)(int64_t)insn.offset;
	return true;
}

static uint64_t a64_target(uint64_t vaddr, uint32_t insn, unsigned int shift, unsigned int bits)
{
	uint64_t field = insn >> shift & ((1u << bits) - 1);
	uint64_t sign = 1ull << (bits - 1);

	return vaddr + (((field ^ sign) - sign) << 2);
}

/* Arm ARM, C4.1: branches, exceptions and system instructions. */
static bool step_a64(const uint8_t *code, size_t len, uint64_t vaddr, struct step *ret_step)
{
	uint32_t insn;

	if (len < sizeof(insn))
		return false;
	memcpy(&insn, code, sizeof(insn));
	ret_step->len = sizeof(insn);
	ret_step->flow = MT_X86_NEXT;
	ret_step->has_target = true;
	if ((insn & 0x7c000000) == 0x14000000) {		/* b, bl */
		ret_step->flow = insn >> 31 ? MT_X86_CALL : MT_X86_JUMP;
		ret_step->target = a64_target(vaddr, insn, 0, 26);
	} else if ((insn & 0xff000000) == 0x54000000 ||		/* b.cond, bc.cond */
		   (insn & 0x7e000000) == 0x34000000) {		/* cbz, cbnz */
		ret_step->flow = MT_X86_BRANCH;
		ret_step->target = a64_target(vaddr, insn, 5, 19);
	} else if ((insn & 0x7e000000) == 0x36000000) {		/* tbz, tbnz */
		ret_step->flow = MT_X86_BRANCH;
		ret_step->target = a64_target(vaddr, insn, 5, 14);
	} else {
		ret_step->has_target = false;
		if ((insn & 0xfe000000) == 0xd6000000)		/* by register */
			switch (insn >> 21 & 7) {
			case 0: ret_step->flow = MT_X86_JUMP_INDIRECT; break;
			case 1: ret_step->flow = MT_X86_CALL_INDIRECT; break;
			case 2: ret_step->flow = MT_X86_RETURN; break;
			default: ret_step->flow = MT_X86_STOP;
			}
		else if ((insn & 0xffe0001f) == 0xd4200000 || insn >> 16 == 0)	/* brk, udf */
			ret_step->flow = MT_X86_STOP;
	}
	return true;
}

static uint16_t machine_of(const struct mt_elf_image *image)
{
	return image->ehdr.e_machine;
}

static bool step_at(const struct mt_elf_image *image, uint64_t vaddr, struct step *ret_step)
{
	int64_t offset = mt_elf_image_offset(image, vaddr, PF_X);
	uint8_t code[INSN_MAX];
	size_t len;

	if (offset < 0 || (uint64_t)offset >= image->size)
		return false;
	len = image->size - (size_t)offset < INSN_MAX ? image->size - (size_t)offset : INSN_MAX;
	if (!mt_elf_image_get(image, (uint64_t)offset, code, len))
		return false;
	switch (machine_of(image)) {
	case EM_X86_64: return step_x86(code, len, vaddr, ret_step);
	case EM_AARCH64: return step_a64(code, len, vaddr, ret_step);
	}
	return false;
}

/* Past the instruction that marks targets of indirect branches, if there is one. */
static uint64_t skip_landing_pad(const struct mt_elf_image *image, uint64_t vaddr)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t bti_c[] = { 0x5f, 0x24, 0x03, 0xd5 };
	const uint8_t *pad = machine_of(image) == EM_AARCH64 ? bti_c : endbr64;
	int64_t offset = mt_elf_image_offset(image, vaddr, PF_X);
	uint8_t code[sizeof(endbr64)];

	if (offset < 0 || !mt_elf_image_get(image, (uint64_t)offset, code, sizeof(code)) ||
	    memcmp(code, pad, sizeof(code)) != 0)
		return vaddr;
	return vaddr + sizeof(endbr64);
}

/* The slot that the code at vaddr does nothing but jump through: an entry of a PLT. */
static bool plt_slot_a64(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_slot)
{
	int64_t offset = mt_elf_image_offset(image, vaddr, PF_X);
	uint32_t insn[2];
	uint64_t pages;

	if (offset < 0 || !mt_elf_image_get(image, (uint64_t)offset, insn, sizeof(insn)))
		return false;
	/* adrp x16, page; ldr x17, [x16, offset]; add x16, x16, offset; br x17 */
	if ((insn[0] & 0x9f00001f) != 0x90000010 || (insn[1] & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (uint64_t)(insn[0] >> 5 & 0x7ffff) << 2 | (insn[0] >> 29 & 3);
	pages = (pages ^ 0x100000) - 0x100000;
	*ret_slot = (vaddr & ~4095ull) + (pages << 12) + ((uint64_t)(insn[1] >> 10 & 0xfff) << 3);
	return true;
}

static bool plt_slot(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_slot)
{
	struct step step;

	vaddr = skip_landing_pad(image, vaddr);
	if (machine_of(image) == EM_AARCH64)
		return plt_slot_a64(image, vaddr, ret_slot);
	if (!step_at(image, vaddr, &step) || step.flow != MT_X86_JUMP_INDIRECT || !step.has_target)
		return false;
	*ret_slot = step.target;
	return true;
}

/* True the first time. A full set counts as all seen. */
static bool see(struct walker *w, uint64_t vaddr)
{
	size_t i = (size_t)(vaddr * 0x9e3779b97f4a7c15ull >> 32) % SEEN_SIZE;

	while (w->seen[i]) {
		if (w->seen[i] == vaddr)
			return false;
		i = (i + 1) % SEEN_SIZE;
	}
	if (w->n_seen == INSNS_MAX) {
		w->walk->unknown = true;
		return false;
	}
	w->seen[i] = vaddr;
	w->n_seen++;
	return true;
}

static void push(struct walker *w, uint64_t vaddr)
{
	if (w->n_pending < PENDING_MAX)
		w->pending[w->n_pending++] = vaddr;
	else
		w->walk->unknown = true;
}

static void add_jump(struct walker *w, uint64_t vaddr)
{
	struct mt_code_walk *walk = w->walk;
	size_t i;

	for (i = 0; i < walk->n_jumps; i++)
		if (walk->jumps[i] == vaddr)
			return;
	if (walk->n_jumps < MT_WALK_JUMPS_MAX)
		walk->jumps[walk->n_jumps++] = vaddr;
	else
		walk->unknown = true;
	if (w->into)
		push(w, vaddr);
}

static void add_import(struct walker *w, uint64_t slot)
{
	struct mt_code_walk *walk = w->walk;
	struct mt_elf_import import;

	if (!mt_elf_import_find(w->image, slot, &import))
		walk->unknown = true;
	else if (import.vaddr)
		add_jump(w, import.vaddr);
	else if (walk->n_imports < MT_WALK_JUMPS_MAX)
		memcpy(walk->imports[walk->n_imports++], import.name, strlen(import.name) + 1);
	else
		walk->unknown = true;
}

/* A jump or branch, within the function or out of it. */
static void go(struct walker *w, uint64_t target)
{
	uint64_t slot;

	if (target >= w->start && target < w->end)
		push(w, target);
	else if (plt_slot(w->image, target, &slot))
		add_import(w, slot);
	else
		add_jump(w, target);
}

static void add_call(struct walker *w, uint64_t target)
{
	struct mt_code_walk *walk = w->walk;
	struct mt_elf_import import;
	uint64_t slot;

	import.vaddr = target;
	import.name[0] = '\0';
	if (walk->n_calls == MT_WALK_CALLS_MAX ||
	    (plt_slot(w->image, target, &slot) && !mt_elf_import_find(w->image, slot, &import))) {
		walk->more_calls = true;
		return;
	}
	walk->calls[walk->n_calls].vaddr = import.vaddr;
	memcpy(walk->calls[walk->n_calls].name, import.name, strlen(import.name) + 1);
	walk->n_calls++;
}

static void end_of_step(struct walker *w, uint64_t vaddr, const struct step *step)
{
	struct mt_code_walk *walk = w->walk;

	switch (step->flow) {
	case MT_X86_RETURN:
		if (walk->n_returns < MT_WALK_RETURNS_MAX)
			walk->returns[walk->n_returns++] = vaddr;
		else
			walk->unknown = true;
		break;
	case MT_X86_CALL:
		add_call(w, step->target);
		break;
	case MT_X86_JUMP:
	case MT_X86_BRANCH:
		go(w, step->target);
		break;
	case MT_X86_JUMP_INDIRECT:
		if (step->has_target)
			add_import(w, step->target);
		else
			walk->unknown = true;
		break;
	default:
		break;
	}
}

/* Follow one path until it leaves, ends, or has been walked. */
static void follow(struct walker *w, uint64_t vaddr)
{
	struct step step;

	if (!(vaddr >= w->start && vaddr < w->end) &&
	    !mt_elf_frame_range(w->image, vaddr, &w->start, &w->end)) {
		w->walk->unknown = true;
		return;
	}
	/* What follows the end follows a call that does not return. */
	while (vaddr < w->end && see(w, vaddr)) {
		if (!step_at(w->image, vaddr, &step)) {
			w->walk->unknown = true;
			return;
		}
		end_of_step(w, vaddr, &step);
		if (step.flow != MT_X86_NEXT && step.flow != MT_X86_CALL &&
		    step.flow != MT_X86_CALL_INDIRECT && step.flow != MT_X86_BRANCH)
			return;
		vaddr += step.len;
	}
}

bool mt_code_only_jumps(const struct mt_elf_image *image, uint64_t vaddr, uint64_t *ret_target)
{
	struct mt_elf_import import;
	uint64_t start, end, slot;
	struct step step;

	if (!step_at(image, skip_landing_pad(image, vaddr), &step) || step.flow != MT_X86_JUMP ||
	    !mt_elf_frame_range(image, vaddr, &start, &end) ||
	    (step.target >= start && step.target < end))
		return false;
	if (!plt_slot(image, step.target, &slot)) {
		*ret_target = step.target;
		return true;
	}
	if (!mt_elf_import_find(image, slot, &import) || !import.vaddr)
		return false;
	*ret_target = import.vaddr;
	return true;
}

void mt_code_walk(const struct mt_elf_image *image, uint64_t vaddr, bool into,
		  struct mt_code_walk *ret_walk)
{
	struct walker *w = calloc(1, sizeof(*w));

	ret_walk->n_returns = ret_walk->n_jumps = ret_walk->n_imports = ret_walk->n_calls = 0;
	ret_walk->more_calls = false;
	ret_walk->unknown = !w;
	if (!w)
		return;
	w->image = image;
	w->walk = ret_walk;
	w->into = into;
	push(w, vaddr);
	while (w->n_pending)
		follow(w, w->pending[--w->n_pending]);
	free(w);
}
