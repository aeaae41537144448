#include "record/remote_memory.h"

#include <errno.h>
#include <sys/uio.h>

#define PAGE 4096u
#define PAGES 256u

struct page {
	uint64_t version;
	uint64_t number;
	bool there;
	uint8_t bytes[PAGE];
};

struct mt_remote_memory {
	int pid;
	uint64_t version;
	struct page pages[PAGES];
};

int mt_remote_memory_new(struct mt_remote_memory **ret_memory)
{
	struct mt_remote_memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	*ret_memory = memory;
	return 0;
}

void mt_remote_memory_free(struct mt_remote_memory *memory)
{
	free(memory);
}

void mt_remote_memory_select(struct mt_remote_memory *memory, int pid, uint64_t version)
{
	memory->pid = pid;
	memory->version = version;
}

static const struct page *fetch(struct mt_remote_memory *memory, uint64_t number)
{
	struct page *page = &memory->pages[(number ^ number >> 8 ^ memory->version) % PAGES];
	struct iovec local = { page->bytes, PAGE };
	struct iovec remote = { (void *)(uintptr_t)(number * PAGE), PAGE };

	if (page->there && page->version == memory->version && page->number == number)
		return page;
	page->there = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) == PAGE;
	page->version = memory->version;
	page->number = number;
	return page->there ? page : NULL;
}

bool mt_remote_memory_read(struct mt_remote_memory *memory, uint64_t addr, void *to, size_t n)
{
	const struct page *page;
	uint8_t *at = to;
	size_t some, skip;

	if (n > UINT64_MAX - addr)
		return false;
	while (n) {
		skip = addr % PAGE;
		some = PAGE - skip < n ? PAGE - skip : n;
		page = fetch(memory, addr / PAGE);
		if (!page)
			return false;
		memcpy(at, page->bytes + skip, some);
		at += some;
		addr += some;
		n -= some;
	}
	return true;
}
