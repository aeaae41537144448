/*
 * find_object.c - what Debian's libgcc_eh asks glibc for, and musl has not: with it libstdc++'s
 * runtime throws and catches in programs that are linked with musl.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* As glibc's dlfcn.h has it on x86-64. */
struct dl_find_object {
	unsigned long long flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long reserved[7];
};

struct search {
	uintptr_t address;
	struct dl_find_object *found;
};

int _dl_find_object(void *address, struct dl_find_object *ret_found);

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *search = arg;
	uintptr_t start;
	void *eh_frame = NULL;
	int i, inside = 0;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			eh_frame = (void *)start;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && search->address >= start &&
		    search->address - start < info->dlpi_phdr[i].p_memsz) {
			search->found->map_start = (void *)start;
			search->found->map_end = (void *)(start + info->dlpi_phdr[i].p_memsz);
			inside = 1;
		}
	}
	search->found->eh_frame = eh_frame;
	return inside && eh_frame;
}

int _dl_find_object(void *address, struct dl_find_object *ret_found)
{
	struct search search = { (uintptr_t)address, ret_found };

	ret_found->flags = 0;
	ret_found->link_map = NULL;
	return dl_iterate_phdr(look, &search) ? 0 : -1;
}
