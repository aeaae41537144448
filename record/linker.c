#include "record/linker.h"

#include <errno.h>

#include "record/allocators.h"
#include "record/elf_image.h"
#include "record/elf_symbols.h"

int mt_linker_find(int fd, struct mt_probe *ret_probe)
{
	static const char *const names[] = { "_dl_debug_state", "mmap" };	/* sorted */
	uint64_t vaddrs[MT_ARRAY_SIZE(names)];
	struct mt_elf_image image;
	int64_t offset = 0;
	int err = mt_elf_image_open(fd, &image);

	if (err)
		return err;
	mt_elf_find_functions(&image, names, MT_ARRAY_SIZE(names), vaddrs);
	if (vaddrs[0] && !vaddrs[1])
		offset = mt_elf_image_offset(&image, vaddrs[0], PF_X);
	mt_elf_image_close(&image);
	if (offset <= 0)
		return -ENOENT;
	*ret_probe = (struct mt_probe){
		.function = names[0], .offset = offset, .role = MT_PROBE_WAIT,
	};
	return 0;
}
