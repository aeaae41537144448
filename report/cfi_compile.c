/* All FDEs of a module, sorted, made into rows. */
#include "report/cfi_source.h"

#include <errno.h>

#include "common/error.h"

#define CIE_CACHE 64		/* power of two; a module has few CIEs, and they come in runs */
#define NO_CIE UINT64_MAX

/* x86-64: 16 registers and the return address. aarch64: x0-x30, sp; pc has no rule. */
#define X86_64_REGS 17
#define AARCH64_REGS 32

/* Hostile contents can repeat costly work; this much a byte is several times what files need. */
#define WORK_PER_BYTE 16
#define WORK_MIN (1u << 20)

struct cie_slot {
	uint64_t offset;
	int err;		/* a damaged one is remembered too */
	struct mt_cfi_cie cie;
};

struct input {
	const struct mt_section *section;
	struct mt_cfi_context context;
	struct cie_slot cache[CIE_CACHE];
};

struct fde_ref {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	/* of the record */
	uint32_t input;		/* 0: .eh_frame, which counts more than 1: .debug_frame */
};

struct compiler {
	const struct mt_cfi_source *source;
	struct mt_cfi_builder *builder;
	struct input input[2];
	struct fde_ref *fdes;
	size_t n_fdes;
	size_t cap;
	size_t damaged;
	size_t used;
};

static void input_init(struct compiler *c, unsigned int index, const struct mt_section *section)
{
	struct input *input = &c->input[index];
	const struct mt_cfi_source *source = c->source;
	unsigned int i;

	input->section = section;
	input->context.data = section->data;
	input->context.svma = section->svma;
	input->context.text = source->text;
	input->context.got = source->got;
	input->context.eh_frame = index == 0;
	input->context.aarch64 = source->aarch64;
	input->context.n_regs = source->aarch64 ? AARCH64_REGS : X86_64_REGS;
	input->context.work_max = WORK_MIN + (uint64_t)section->size * WORK_PER_BYTE;
	for (i = 0; i < CIE_CACHE; i++)
		input->cache[i].offset = NO_CIE;
}

static int read_cie(struct compiler *c, struct input *input, uint64_t offset,
		    struct mt_cfi_cie *ret_cie)
{
	struct mt_cfi_record record;
	uint64_t next = offset;

	if (mt_cfi_next_record(input->section, input->context.eh_frame, &next, &record) != 1 ||
	    !record.is_cie)
		return -MT_E_CORRUPT;
	input->context.work += next - offset;
	return mt_cfi_read_cie(&input->context, c->builder, &record, ret_cie);
}

static int find_cie(struct compiler *c, struct input *input, uint64_t offset,
		    const struct mt_cfi_cie **ret_cie)
{
	struct cie_slot *slot = &input->cache[(offset * 0x9e3779b97f4a7c15u >> 32) %
					      CIE_CACHE];

	if (slot->offset != offset) {
		slot->offset = offset;
		slot->err = read_cie(c, input, offset, &slot->cie);
		if (slot->err == -ENOMEM)
			slot->offset = NO_CIE;
	}
	if (!slot->err)
		*ret_cie = &slot->cie;
	return slot->err;
}

static bool out_of_work(struct compiler *c, const struct input *input)
{
	return input->context.work + mt_cfi_builder_work(c->builder) > input->context.work_max;
}

static int push_fde(struct compiler *c, const struct fde_ref *fde)
{
	size_t cap = c->cap ? c->cap * 2 : 256;
	struct fde_ref *grown;

	if (c->n_fdes == c->cap) {
		grown = reallocarray(c->fdes, cap, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->fdes = grown;
		c->cap = cap;
	}
	c->fdes[c->n_fdes++] = *fde;
	return 0;
}

static bool in_code(const struct mt_cfi_source *source, const struct mt_cfi_fde *fde)
{
	return !source->code_end ||
	       (fde->start >= source->code_start && fde->end <= source->code_end);
}

/* List the FDEs of one section. Only -ENOMEM is fatal. */
static int collect(struct compiler *c, unsigned int index)
{
	struct input *input = &c->input[index];
	const struct mt_cfi_cie *cie;
	struct mt_cfi_record record;
	struct mt_cfi_fde fde;
	struct fde_ref ref;
	uint64_t offset = 0;
	int err;

	while (!out_of_work(c, input)) {
		ref.offset = offset;
		err = mt_cfi_next_record(input->section, input->context.eh_frame, &offset,
					 &record);
		if (!err)
			break;
		if (err < 0) {
			c->damaged++;
			continue;
		}
		input->context.work++;
		if (record.is_cie)
			continue;
		err = find_cie(c, input, record.cie, &cie);
		if (!err)
			err = mt_cfi_read_fde(&input->context, cie, &record, &fde);
		if (err == -ENOMEM)
			return err;
		if (err || !in_code(c->source, &fde)) {
			c->damaged++;
			continue;
		}
		ref.start = fde.start;
		ref.end = fde.end;
		ref.input = index;
		err = push_fde(c, &ref);
		if (err)
			return err;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct fde_ref *x = a;
	const struct fde_ref *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->input != y->input)
		return x->input < y->input ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/*
 * Sort, and drop what an entry of more weight covers: of several with one start the first, and
 * of .debug_frame what begins inside a function of .eh_frame. A function that begins inside another
 * ends that one, as for the binary search table of .eh_frame_hdr.
 */
static void arrange(struct compiler *c)
{
	uint64_t covered = 0;	/* end of the .eh_frame functions so far */
	size_t kept = 0;
	size_t i;
	struct fde_ref *fde;

	if (c->n_fdes)
		qsort(c->fdes, c->n_fdes, sizeof(*c->fdes), compare);
	for (i = 0; i < c->n_fdes; i++) {
		fde = &c->fdes[i];
		if (kept && c->fdes[kept - 1].start == fde->start)
			continue;
		if (fde->input == 1 && fde->start < covered)
			continue;
		if (fde->input == 0 && fde->end > covered)
			covered = fde->end;
		if (kept && c->fdes[kept - 1].end > fde->start)
			c->fdes[kept - 1].end = fde->start;
		c->fdes[kept++] = *fde;
	}
	c->n_fdes = kept;
}

static int run(struct compiler *c, const struct fde_ref *ref)
{
	struct input *input = &c->input[ref->input];
	const struct mt_cfi_cie *cie;
	struct mt_cfi_record record;
	struct mt_cfi_fde fde;
	uint64_t offset = ref->offset;
	int err;

	if (out_of_work(c, input))
		return -MT_E_LIMIT;
	if (mt_cfi_next_record(input->section, input->context.eh_frame, &offset, &record) != 1)
		return -MT_E_CORRUPT;
	err = find_cie(c, input, record.cie, &cie);
	if (!err)
		err = mt_cfi_read_fde(&input->context, cie, &record, &fde);
	if (err)
		return err;
	fde.end = ref->end;
	return mt_cfi_run_fde(&input->context, c->builder, cie, &fde);
}

static int compile(struct compiler *c)
{
	const struct fde_ref *ref;
	size_t rows;
	size_t i;
	int err;

	for (i = 0; i < c->n_fdes; i++) {
		ref = &c->fdes[i];
		rows = mt_cfi_builder_rows(c->builder);
		err = run(c, ref);
		if (err == -ENOMEM)
			return err;
		if (err) {
			c->damaged++;
			mt_cfi_builder_cut(c->builder, rows);
			if (!rows)
				continue;
			err = mt_cfi_add_row(c->builder, ref->start, MT_CFI_NO_SET);
		} else {
			c->used++;
			if (i + 1 < c->n_fdes && c->fdes[i + 1].start == ref->end)
				continue;
			err = mt_cfi_add_row(c->builder, ref->end, MT_CFI_NO_SET);
		}
		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

int mt_cfi_compile_source(const struct mt_cfi_source *source, struct mt_cfi **ret_cfi)
{
	struct compiler *c;
	int err = -ENOMEM;

	if (!source->eh_frame.data && !source->debug_frame.data)
		return -MT_E_NO_DATA;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->source = source;
	if (mt_cfi_builder_new(&c->builder))
		goto out_free;

	input_init(c, 0, &source->eh_frame);
	input_init(c, 1, &source->debug_frame);
	err = source->eh_frame.data ? collect(c, 0) : 0;
	if (!err && source->debug_frame.data)
		err = collect(c, 1);
	if (err)
		goto out_free;
	arrange(c);
	err = compile(c);
	if (err)
		goto out_free;
	err = mt_cfi_builder_finish(c->builder, source->entry, c->used, c->damaged, ret_cfi);

out_free:
	mt_cfi_builder_free(c->builder);
	free(c->fdes);
	free(c);
	return err;
}
