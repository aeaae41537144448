/* Any bytes as a file that is mapped: its allocators, where it waits, what it is linked to. */
#include "record/allocators.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/allocator_table.h"
#include "record/elf_dynamic.h"
#include "record/probe_site.h"
#include "record/wait_places.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where they are the headers say, which may be behind the end: the kernel refuses those. */
static void check_probes(const struct mt_probe *probes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!probes[i].function || probes[i].kind >= MT_ALLOCATOR_KINDS ||
		    probes[i].role > MT_PROBE_EXEC || probes[i].step > MT_STEP_SINGLE)
			abort();
}

static void scan(const struct mt_allocator_table *table, int fd)
{
	struct mt_allocator_scan found;

	if (mt_allocators_scan(table, fd, NULL, &found))
		return;
	if (found.n_functions > found.n || found.n_gaps > MT_ARRAY_SIZE(found.gaps))
		abort();
	mt_probe_sites_choose(fd, true, found.probes, found.n);
	check_probes(found.probes, found.n);
	mt_allocator_scan_release(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mt_allocator_table *table;
	static int fd = -1;
	struct mt_elf_dynamic *dynamic;
	struct mt_wait_places places;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		if (fd < 0 || mt_allocator_table_new(NULL, &table))
			abort();
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	scan(table, fd);
	if (!mt_wait_places_find(fd, &places))
		check_probes(places.probes, places.n);
	if (!mt_elf_dynamic_read(fd, &dynamic))
		mt_elf_dynamic_free(dynamic);
	return 0;
}
