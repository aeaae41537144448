/*
 * record/code_layout.h - which ELF file's table of functions covers an address of a process.
 */
#ifndef MT_CODE_LAYOUT_H
#define MT_CODE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct mt_code_layout;
struct mt_frame_table;
struct mt_remote_memory;

int mt_code_layout_new(struct mt_code_layout **ret_layout);
void mt_code_layout_free(struct mt_code_layout *layout);

/*
 * The table for the code at addr of the selected process; NULL if there is none. version: as for
 * mt_remote_memory_select(). Mappings are read again for an address that is in none of
 * them, but not all the time.
 */
const struct mt_frame_table *mt_code_layout_find(struct mt_code_layout *layout,
						 struct mt_remote_memory *memory, int pid,
						 uint64_t version, uint64_t addr);

#endif
