#include "record/wait_places.h"

#include "bpf/mt_ring.h"
#include "record/elf_image.h"
#include "record/elf_symbols.h"

enum { MUSL, LINKER, EXECVE, EXECVEAT, FEXECVE, MMAP, NAMES };

/* Sorted. */
static const char *const names[NAMES] = {
	[MUSL] = "__dls3", [LINKER] = "_dl_debug_state", [EXECVE] = "execve",
	[EXECVEAT] = "execveat", [FEXECVE] = "fexecve", [MMAP] = "mmap",
};

static void add(struct mt_wait_places *places, const struct mt_elf_image *image, int name,
		uint64_t vaddr, enum mt_probe_role role, uint64_t cookie)
{
	int64_t offset = vaddr ? mt_elf_image_offset(image, vaddr, PF_X) : -1;
	size_t i;

	if (offset <= 0)
		return;
	for (i = 0; i < places->n; i++)
		if (places->probes[i].offset == (uint64_t)offset)
			return;
	places->probes[places->n++] = (struct mt_probe){
		.function = names[name], .offset = offset, .role = role, .cookie = cookie,
	};
}

static void add_linker(struct mt_wait_places *places, const struct mt_elf_image *image,
		       const uint64_t *vaddrs)
{
	static const char *const debug = "_dl_debug_addr";
	uint64_t told = 0;

	if (vaddrs[MUSL])
		mt_elf_find_objects(image, &debug, 1, &told);
	if (vaddrs[MMAP] && !told)
		return;
	add(places, image, LINKER, vaddrs[LINKER], MT_PROBE_WAIT,
	    vaddrs[MMAP] ? told - vaddrs[LINKER] : 0);
	if (places->n)
		places->linker = vaddrs[MMAP] ? MT_LINKER_IN_LIBC : MT_LINKER_ALONE;
}

int mt_wait_places_find(int fd, struct mt_wait_places *ret_places)
{
	struct mt_wait_places places = {};
	uint64_t vaddrs[NAMES];
	struct mt_elf_image image;
	int err = mt_elf_image_open(fd, &image);

	if (err)
		return err;
	mt_elf_find_functions(&image, names, NAMES, vaddrs);
	add_linker(&places, &image, vaddrs);
	add(&places, &image, EXECVE, vaddrs[EXECVE], MT_PROBE_EXEC, MT_EXEC_NAME);
	add(&places, &image, EXECVEAT, vaddrs[EXECVEAT], MT_PROBE_EXEC, MT_EXEC_IN_FOLDER);
	add(&places, &image, FEXECVE, vaddrs[FEXECVE], MT_PROBE_EXEC, MT_EXEC_OPEN_FILE);
	mt_elf_image_close(&image);
	*ret_places = places;
	return 0;
}
