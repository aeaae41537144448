/* The files with a module's debug information: its own, a separate one, a supplementary one. */
#include "report/module_impl.h"

#include "common/error.h"
#include "report/debuginfod.h"
#include "report/module_file.h"
#include "report/pack.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is it of the same build? If not, it is let go. */
static bool debug_fits(struct mt_module *module)
{
	uint8_t id[MT_BUILD_ID_MAX];
	GElf_Ehdr ehdr;
	size_t n = mt_image_build_id(&module->debug, id);

	if (n == module->build_id_len && !memcmp(id, module->build_id, n) &&
	    gelf_getehdr(module->debug.elf, &ehdr) && ehdr.e_machine == module->machine)
		return true;
	mt_image_release(&module->debug);
	return false;
}

static void find_packed_debug(struct mt_module *module)
{
	if (mt_image_map(&module->debug, module->pack, module->packed->debug) ||
	    !debug_fits(module))
		return;
	module->debug_path = strdup(module->packed->debug_path);
	if (!module->debug_path)
		mt_image_release(&module->debug);
}

/* Take fd as the debug file if it proves to be this module's. */
static bool accept_debug(struct mt_module *module, int fd, bool have_crc, uint32_t want_crc)
{
	struct stat own, st;
	uint32_t crc;

	/* A link can name the file itself. */
	if (module->own.fd < 0 || fstat(module->own.fd, &own) < 0 || fstat(fd, &st) < 0 ||
	    (own.st_dev == st.st_dev && own.st_ino == st.st_ino)) {
		close(fd);
		return false;
	}
	if (!module->build_id_len &&
	    (!have_crc || mt_module_file_crc(fd, &crc) < 0 || crc != want_crc)) {
		close(fd);
		return false;
	}
	if (mt_image_open(&module->debug, fd, NULL, 0) < 0)
		return false;
	return debug_fits(module);
}

static bool try_debug(struct mt_module *module, const char *path, bool have_crc, uint32_t crc)
{
	int fd = mt_module_file_open_regular(path);

	if (fd < 0 || !accept_debug(module, fd, have_crc, crc))
		return false;
	module->debug_path = strdup(path);
	if (!module->debug_path)
		mt_image_release(&module->debug);
	return module->debug_path != NULL;
}

static bool find_debug(struct mt_module *module)
{
	char path[PATH_MAX];
	const char *name;
	unsigned int i;
	GElf_Word crc;
	int err;

	if (module->build_id_len &&
	    !mt_module_file_build_id_path(module->debug_dir, module->build_id,
					  module->build_id_len, path, sizeof(path)) &&
	    try_debug(module, path, false, 0))
		return true;
	name = dwelf_elf_gnu_debuglink(module->own.elf, &crc);
	if (!name || !*name || strchr(name, '/'))
		return false;
	for (i = 0;; i++) {
		err = mt_module_file_link_path(module->debug_dir, i < 2 ? module->found_path :
					       module->path, name, i, path, sizeof(path));
		if (err == -ENOENT)
			return false;
		if (!err && try_debug(module, path, true, crc))
			return true;
	}
}

/* Not for files that have all that a debug file could give. */
static void fetch_debug(struct mt_module *module)
{
	char *path;
	int fd;

	if (!module->debuginfod || !module->build_id_len ||
	    mt_image_has_debug_info(&module->own))
		return;
	fd = mt_debuginfod_find(module->debuginfod, MT_DEBUGINFOD_DEBUGINFO, module->build_id,
				module->build_id_len, module->path, &path);
	if (fd < 0)
		return;
	if (accept_debug(module, fd, false, 0))
		module->debug_path = path;
	else
		free(path);
}

const char *mt_module_debug_path(struct mt_module *module)
{
	if (!module->debug_tried) {
		module->debug_tried = true;
		if (module->own.elf && module->packed)
			find_packed_debug(module);
		else if (module->own.elf && !find_debug(module))
			fetch_debug(module);
	}
	return module->debug_path ? module->debug_path : "";
}

Elf *mt_module_debug_elf(struct mt_module *module)
{
	mt_module_debug_path(module);
	return module->debug.elf;
}

/* Has what was opened the build-id that the link names? If not, it is let go. */
static bool alt_fits(struct mt_module *module, const void *id, size_t id_len)
{
	uint8_t have[MT_BUILD_ID_MAX];

	if (mt_image_build_id(&module->alt, have) == id_len && !memcmp(have, id, id_len) &&
	    mt_image_sizes_sane(&module->alt)) {
		module->alt_dwarf = dwarf_begin_elf(module->alt.elf, DWARF_C_READ, NULL);
		if (module->alt_dwarf)
			return true;
	}
	mt_image_release(&module->alt);
	return false;
}

static bool try_alt(struct mt_module *module, const char *path, const void *id, size_t id_len)
{
	int fd = mt_module_file_open_regular(path);

	return fd >= 0 && !mt_image_open(&module->alt, fd, NULL, 0) && alt_fits(module, id, id_len);
}

/*
 * Find the file that dwz moved common parts to. False: there is one, but it is not here.
 */
static bool attach_alt(struct mt_module *module, const char *dwarf_path)
{
	const char *slash = strrchr(dwarf_path, '/');
	char path[PATH_MAX];
	const char *name;
	const void *id;
	ssize_t n;

	n = dwelf_dwarf_gnu_debugaltlink(module->dwarf, &name, &id);
	if (n == 0)
		return true;
	if (n < 0 || n > MT_BUILD_ID_MAX)
		return false;
	if (module->packed) {
		if (mt_image_map(&module->alt, module->pack, module->packed->alt) ||
		    !alt_fits(module, id, n))
			return false;
		goto found;
	}
	if (!mt_module_file_build_id_path(module->debug_dir, id, n, path, sizeof(path)) &&
	    try_alt(module, path, id, n))
		goto found;
	if (name[0] == '/')
		n = try_alt(module, name, id, n) ? 0 : -1;
	else if (snprintf(path, sizeof(path), "%.*s/%s", slash ? (int)(slash - dwarf_path) : 0,
			  dwarf_path, name) < (int)sizeof(path))
		n = try_alt(module, path, id, n) ? 0 : -1;
	if (n)
		return false;
found:
	dwarf_setalt(module->dwarf, module->alt_dwarf);
	return true;
}

Dwarf *mt_module_dwarf(struct mt_module *module)
{
	const char *path = module->found_path;
	struct mt_image *image = &module->own;

	if (module->dwarf_tried)
		return module->dwarf;
	module->dwarf_tried = true;
	if (!mt_image_has_debug_info(image) && *mt_module_debug_path(module)) {
		image = &module->debug;
		path = module->debug_path;
	}
	if (!image->elf || !image->n_sections || !mt_image_sizes_sane(image))
		return NULL;
	if (mt_module_split_prepare(module, image->elf))
		return NULL;
	module->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
	if (module->dwarf && !attach_alt(module, path)) {
		dwarf_end(module->dwarf);
		module->dwarf = NULL;
	}
	return module->dwarf;
}
