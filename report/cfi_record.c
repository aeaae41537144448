/* The contents of CIEs and FDEs up to their instructions. */
#include "report/cfi_program.h"

#include "common/error.h"

/* DW_EH_PE_*: the Linux Standard Base, "DWARF Exception Header Encoding". */
enum {
	PE_FORMAT = 0x0f,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,

	PE_APPLICATION = 0x70,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_FUNCREL = 0x40,
	PE_ALIGNED = 0x50,
};

#define X86_64_RA 16

static bool read_format(struct mt_bytes *bytes, uint8_t format, uint64_t *ret_value)
{
	switch (format) {
	case MT_PE_ABSPTR:
	case PE_SIGNED:
	case PE_UDATA8:
	case PE_SDATA8:
		*ret_value = mt_bytes_uint(bytes, 8);
		break;
	case PE_ULEB128:
		*ret_value = mt_bytes_uleb(bytes);
		break;
	case PE_SLEB128:
		*ret_value = (uint64_t)mt_bytes_sleb(bytes);
		break;
	case PE_UDATA2:
		*ret_value = mt_bytes_uint(bytes, 2);
		break;
	case PE_UDATA4:
		*ret_value = mt_bytes_uint(bytes, 4);
		break;
	case PE_SDATA2:
		*ret_value = (uint64_t)mt_bytes_sint(bytes, 2);
		break;
	case PE_SDATA4:
		*ret_value = (uint64_t)mt_bytes_sint(bytes, 4);
		break;
	default:
		return false;
	}
	return !bytes->bad;
}

bool mt_cfi_read_pointer(const struct mt_cfi_context *context, struct mt_bytes *bytes,
			 uint8_t encoding, uint64_t func, uint64_t *ret_value)
{
	uint64_t at = context->svma + (uint64_t)(bytes->at - context->data);
	uint64_t base;
	uint64_t value;

	switch (encoding & PE_APPLICATION) {
	case 0:
		base = 0;
		break;
	case PE_PCREL:
		base = at;
		break;
	case PE_TEXTREL:
		base = context->text;
		break;
	case PE_DATAREL:
		base = context->got;
		break;
	case PE_FUNCREL:
		base = func;
		break;
	case PE_ALIGNED:
		base = 0;
		encoding = MT_PE_ABSPTR;
		mt_bytes_skip(bytes, -at & 7);
		break;
	default:
		return false;
	}
	if (!read_format(bytes, encoding & PE_FORMAT, &value))
		return false;
	*ret_value = base + value;
	return true;
}

/*
 * "z" and what its letters announce. A letter that is not known ends the list: the data's
 * length is known all the same. Without "z" only an empty string is understood, and "eh" of old
 * compilers, whose extra pointer libdw has skipped.
 */
static int read_augmentation(struct mt_cfi_context *context, const struct mt_cfi_record *record,
			     struct mt_cfi_cie *cie)
{
	struct mt_bytes data = record->augmentation_data;
	const char *letter = record->augmentation;
	uint64_t personality;
	uint8_t encoding;

	if (*letter != 'z')
		return *letter && strcmp(letter, "eh") ? -MT_E_CORRUPT : 0;
	cie->sized = true;
	for (letter++; *letter; letter++) {
		switch (*letter) {
		case 'L':
			mt_bytes_uint(&data, 1);
			break;
		case 'R':
			cie->encoding = (uint8_t)mt_bytes_uint(&data, 1);
			break;
		case 'P':
			encoding = (uint8_t)mt_bytes_uint(&data, 1);
			if (encoding != MT_PE_OMIT &&
			    !mt_cfi_read_pointer(context, &data, encoding & ~MT_PE_INDIRECT, 0,
						 &personality))
				return -MT_E_CORRUPT;
			break;
		case 'S':
			cie->initial.signal = 1;
			break;
		case 'B':	/* aarch64: signed with the B key; stripped all the same */
		case 'G':	/* aarch64: tagged stack memory */
			break;
		default:
			return 0;
		}
		if (data.bad)
			return -MT_E_CORRUPT;
	}
	return 0;
}

int mt_cfi_read_cie(struct mt_cfi_context *context, struct mt_cfi_builder *builder,
		    const struct mt_cfi_record *record, struct mt_cfi_cie *ret_cie)
{
	struct mt_cfi_rule ra = { .kind = MT_RULE_OFFSET, .value = -8 };
	int err;

	memset(ret_cie, 0, sizeof(*ret_cie));
	if (record->ra >= context->n_regs)
		return -MT_E_CORRUPT;
	ret_cie->code_align = record->code_align;
	ret_cie->data_align = record->data_align;
	ret_cie->fde_augmentation_len = record->fde_augmentation_len;
	ret_cie->initial.ra = (uint8_t)record->ra;
	err = read_augmentation(context, record, ret_cie);
	if (err)
		return err;

	/* call pushed it, whether the CIE mentions that or not */
	if (!context->aarch64) {
		ra.reg = X86_64_RA;
		mt_cfi_state_set(&ret_cie->initial, ra);
	}
	return mt_cfi_run_initial(context, builder, ret_cie, record->body, &ret_cie->initial);
}

int mt_cfi_read_fde(struct mt_cfi_context *context, const struct mt_cfi_cie *cie,
		    const struct mt_cfi_record *record, struct mt_cfi_fde *ret_fde)
{
	struct mt_bytes body = record->body;
	uint64_t start;
	uint64_t len;

	if ((cie->encoding & MT_PE_INDIRECT) ||
	    !mt_cfi_read_pointer(context, &body, cie->encoding, 0, &start) ||
	    !read_format(&body, cie->encoding & PE_FORMAT, &len))
		return -MT_E_CORRUPT;
	if (!len || len > UINT64_MAX - start)
		return -MT_E_CORRUPT;
	mt_bytes_skip(&body, cie->sized ? mt_bytes_uleb(&body) : cie->fde_augmentation_len);
	if (body.bad)
		return -MT_E_CORRUPT;

	ret_fde->start = start;
	ret_fde->end = start + len;
	ret_fde->code = body;
	return 0;
}
