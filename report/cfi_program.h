/*
 * report/cfi_program.h - CIEs and FDEs to rows; private to the cfi_*.c files.
 *
 * The records are found by cfi_parse.c; what is in them is interpreted here. Results
 * are 0, -ENOMEM, or -MT_E_CORRUPT and -MT_E_LIMIT for the one record.
 */
#ifndef MT_CFI_PROGRAM_H
#define MT_CFI_PROGRAM_H

#include "report/cfi_rows.h"
#include "report/dwarf_bytes.h"

#define MT_CFI_REMEMBER_MAX 32	/* nesting of DW_CFA_remember_state */

/* What encoded pointers are relative to, and the machine's particulars. */
struct mt_cfi_context {
	const uint8_t *data;	/* the section */
	uint64_t svma;		/* its address */
	uint64_t text;		/* DW_EH_PE_textrel */
	uint64_t got;		/* DW_EH_PE_datarel */
	bool eh_frame;		/* else .debug_frame */
	bool aarch64;
	unsigned int n_regs;	/* registers that are tracked: numbers below this */
	uint64_t work;		/* instructions run so far */
	uint64_t work_max;
};

/* A record of the section as found. */
struct mt_cfi_record {
	bool is_cie;
	uint64_t cie;			/* FDE: section offset of its CIE */
	struct mt_bytes body;		/* FDE: from the initial location; CIE: instructions */
	const char *augmentation;	/* CIE, and all below */
	struct mt_bytes augmentation_data;
	size_t fde_augmentation_len;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
};

struct mt_cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;		/* DW_EH_PE_* of the FDEs' addresses */
	bool sized;			/* augmentation 'z': FDEs say how long their data is */
	size_t fde_augmentation_len;	/* else it is this */
	struct mt_cfi_state initial;
};

struct mt_cfi_fde {
	uint64_t start;
	uint64_t end;
	struct mt_bytes code;
};

int mt_cfi_read_cie(struct mt_cfi_context *context, struct mt_cfi_builder *builder,
		    const struct mt_cfi_record *record, struct mt_cfi_cie *ret_cie);
int mt_cfi_read_fde(struct mt_cfi_context *context, const struct mt_cfi_cie *cie,
		    const struct mt_cfi_record *record, struct mt_cfi_fde *ret_fde);

/* Append the FDE's rows. On error, rows of it may have been appended. */
int mt_cfi_run_fde(struct mt_cfi_context *context, struct mt_cfi_builder *builder,
		   const struct mt_cfi_cie *cie, const struct mt_cfi_fde *fde);

/* Run a CIE's initial instructions on state; for mt_cfi_read_cie(). */
int mt_cfi_run_initial(struct mt_cfi_context *context, struct mt_cfi_builder *builder,
		       const struct mt_cfi_cie *cie, struct mt_bytes code,
		       struct mt_cfi_state *state);

/*
 * Decode a DW_EH_PE_* pointer. func is what DW_EH_PE_funcrel is relative to. false: bad
 * encoding or cut. An indirect one yields the address of the pointer.
 */
bool mt_cfi_read_pointer(const struct mt_cfi_context *context, struct mt_bytes *bytes,
			 uint8_t encoding, uint64_t func, uint64_t *ret_value);

#define MT_PE_ABSPTR 0x00
#define MT_PE_INDIRECT 0x80
#define MT_PE_OMIT 0xff

#endif
