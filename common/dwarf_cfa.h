/*
 * common/dwarf_cfa.h - call frame instructions: DWARF 5 table 7.29, and the extensions of GCC
 * and AArch64.
 */
#ifndef MT_DWARF_CFA_H
#define MT_DWARF_CFA_H

enum {
	CFA_ADVANCE_LOC = 0x40,	/* these three hold an operand in their low six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_ADVANCE_LOC8 = 0x1d,	/* DW_CFA_MIPS_advance_loc8 */
	CFA_NEGATE_RA_STATE_PC = 0x2c,	/* DW_CFA_AARCH64_negate_ra_state_with_pc */
	CFA_NEGATE_RA_STATE = 0x2d,	/* DW_CFA_AARCH64_negate_ra_state */
	CFA_ARGS_SIZE = 0x2e,		/* DW_CFA_GNU_args_size */
	CFA_NEGATIVE_OFFSET = 0x2f,	/* DW_CFA_GNU_negative_offset_extended */
};

#endif
