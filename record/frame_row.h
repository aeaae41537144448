/*
 * record/frame_row.h - where the caller of a frame is, by the unwind table its program has mapped.
 *
 * .eh_frame_hdr and .eh_frame (LSB 5.0, 10.6; DWARF 5, 6.4) of x86-64 programs. What most code
 * needs is understood; for everything else there is no row. The memory is hostile.
 */
#ifndef MT_FRAME_ROW_H
#define MT_FRAME_ROW_H

#include <stdbool.h>
#include <stdint.h>

struct mt_remote_memory;

/* A program's or library's table of functions, sorted by address. */
struct mt_frame_table {
	uint64_t header;	/* what its entries are relative to */
	uint64_t entries;
	uint32_t n;
};

/* The table of the ELF file whose first page is mapped at base; false: it has none. */
bool mt_frame_table_find(struct mt_remote_memory *memory, uint64_t base,
			 struct mt_frame_table *ret_table);

/*
 * The row (bpf/mt_ring.h, MT_FRAME_ROW) that holds where the instruction at pc is about to run;
 * false if there is none. For a return address pc is the byte before it.
 */
bool mt_frame_row(struct mt_remote_memory *memory, const struct mt_frame_table *table, uint64_t pc,
		  uint64_t *ret_row);

#endif
