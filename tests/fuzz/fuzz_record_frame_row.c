/* Any bytes as a program's first pages: rows of every function there, and of addresses in none. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/frame_row.h"
#include "record/remote_memory.h"

#define PAGES 4096u
#define SIZE_MAX_HERE (16u * PAGES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(struct mt_remote_memory *memory, const struct mt_frame_table *table, uint64_t pc)
{
	uint64_t row = 0;

	if (!mt_frame_row(memory, table, pc, &row))
		return;
	if (!MT_FRAME_BASE(row) || (MT_FRAME_BASE(row) == MT_FRAME_END && row != MT_FRAME_END))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t pages[SIZE_MAX_HERE] __attribute__((aligned(4096)));
	static struct mt_remote_memory *memory;
	static uint64_t version;
	struct mt_frame_table table;
	uint64_t base = (uintptr_t)pages;
	int32_t start;
	uint32_t i, k;

	if (!memory && mt_remote_memory_new(&memory))
		abort();
	if (size > sizeof(pages))
		size = sizeof(pages);
	memcpy(pages, data, size);
	memset(pages + size, 0, sizeof(pages) - size);
	mt_remote_memory_select(memory, getpid(), ++version);
	if (!mt_frame_table_find(memory, base, &table))
		return 0;
	for (i = 0; i < table.n && i < 64; i++) {
		if (!mt_remote_memory_read(memory, table.entries + i * 8ull, &start, sizeof(start)))
			break;
		for (k = 0; k < 24; k += 3)
			look(memory, &table, table.header + (uint64_t)(int64_t)start + k);
	}
	look(memory, &table, base);
	look(memory, &table, 0);
	look(memory, &table, UINT64_MAX);
	return 0;
}
