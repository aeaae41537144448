/* Symbols in every awkward arrangement; addresses are offsets from base. */
	.text
	.globl base
base:
	.macro sym name, type, offset, size, bind=.local
	\bind \name
	.type \name, \type
	.set \name, base + \offset
	.size \name, \size
	.endm

	.fill 0x200, 1, 0x90
	sym outer, @function, 0x00, 0x40, .globl
	sym inner, @function, 0x10, 0x10
	sym crossing, @function, 0x38, 0x10
	/* A hole up to 0x60. */
	sym table_in_text, @object, 0x50, 0x10
	sym __alias_local, @function, 0x60, 0x10
	sym alias_weak, @function, 0x60, 0x10, .weak
	sym __alias_global, @function, 0x60, 0x10, .globl
	sym _alias_global, @function, 0x60, 0x10, .globl
	sym _alias_global2, @function, 0x60, 0x10, .globl
	sym alias_long, @function, 0x60, 0x20
	sym unsized, @function, 0x80, 0
	sym after_unsized, @object, 0x90, 8
	sym label, @notype, 0xa0, 0
	sym "$d", @notype, 0xa8, 0
	sym "$x.5", @notype, 0xa9, 0
	sym "$dollar", @notype, 0xb0, 4
	sym last_unsized, @function, 0x1f0, 0
	.section another_code, "ax"
	.fill 0x100, 1, 0x90
	.section .tdata, "awT"
	.globl thread_local
	.type thread_local, @object
	.size thread_local, 8
thread_local:
	.quad 0
	.globl undefined
	.data
	.quad undefined
	.globl absolute
	.set absolute, 0x1234
	.section .note.GNU-stack, "", @progbits
