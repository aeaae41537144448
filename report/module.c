#include "report/module_impl.h"

#include "common/error.h"
#include "report/debuginfod.h"
#include "report/jit_file.h"
#include "report/module_file.h"
#include "report/module_profile.h"
#include "report/pack.h"
#include "report/session.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_DIR "/usr/lib/debug"

static int load_segments(struct mt_module *module)
{
	struct mt_module_segment *seg;
	size_t n, i;
	GElf_Phdr phdr;

	if (elf_getphdrnum(module->own.elf, &n) < 0)
		n = 0;
	if (n > MT_SEGMENTS_MAX)
		return -MT_E_LIMIT;
	module->segments = calloc(n + 1, sizeof(*module->segments));
	if (!module->segments)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(module->own.elf, i, &phdr) || phdr.p_type != PT_LOAD)
			continue;
		seg = &module->segments[module->n_segments++];
		seg->offset = phdr.p_offset;
		seg->filesz = phdr.p_filesz;
		seg->vaddr = phdr.p_vaddr;
		seg->memsz = phdr.p_memsz;
		seg->flags = phdr.p_flags;
	}
	return 0;
}

/* Is the file at fd, proved by name and inode or not at all yet, the recorded one by content? */
static void check_build_id(struct mt_module *module, const struct mt_file *file, bool needed)
{
	if (module->status != MT_MODULE_VERIFIED || !needed)
		return;
	if (!file->n_build_id)
		snprintf(module->reason, sizeof(module->reason),
			 "written to since it was recorded");
	else if (mt_module_file_id_fits(file, module->build_id, module->build_id_len,
					module->reason))
		return;
	module->status = MT_MODULE_CHANGED;
	module->n_segments = 0;
	module->build_id_len = 0;
	mt_image_release(&module->own);
}

static int load(struct mt_module *module, int fd, uint8_t *memory, size_t size)
{
	GElf_Ehdr ehdr;
	int err;

	if (module->packed)
		err = mt_image_map(&module->own, module->pack, module->packed->own);
	else
		err = mt_image_open(&module->own, fd, memory, size);
	if (!err && !gelf_getehdr(module->own.elf, &ehdr))
		err = -MT_E_NOT_ELF;
	if (!err)
		err = load_segments(module);
	if (!err) {
		module->machine = ehdr.e_machine;
		module->build_id_len = mt_image_build_id(&module->own, module->build_id);
		return 0;
	}
	mt_image_release(&module->own);
	if (err == -ENOMEM)
		return err;

	module->status = MT_MODULE_NOT_ELF;
	module->n_segments = 0;
	snprintf(module->reason, sizeof(module->reason), "%s", mt_strerror(err));
	return 0;
}

/* Where to look for separate debug files: of the module as it is found here. */
static int set_folders(struct mt_module *module, const struct mt_module_options *options)
{
	const char *sysroot = options->sysroot ? options->sysroot : "";
	int n = (int)strlen(sysroot);

	while (n && sysroot[n - 1] == '/')
		n--;
	if (options->debug_dir)
		module->debug_dir = strdup(options->debug_dir);
	else if (asprintf(&module->debug_dir, "%.*s%s", n, sysroot, DEBUG_DIR) < 0)
		module->debug_dir = NULL;
	if (asprintf(&module->found_path, "%.*s%s", n, sysroot,
		     module->path ? module->path : "") < 0)
		module->found_path = NULL;
	return module->debug_dir && module->found_path ? 0 : -ENOMEM;
}

static void take_packed(struct mt_module *module, const struct mt_pack *pack)
{
	const struct mt_packed *packed = module->packed;

	module->pack = pack;
	if (!mt_module_status_find(packed->status, &module->status))
		module->status = MT_MODULE_UNREADABLE;
	if (module->status != MT_MODULE_VERIFIED)
		snprintf(module->reason, sizeof(module->reason), "%s", packed->reason);
}

/* A file that is not here, or not as it was, from a server that has it. */
static int fetch(struct mt_module *module, const struct mt_file *file)
{
	char reason[MT_REASON_MAX];
	char *path;
	int fd, err;

	if (!module->debuginfod || !file->n_build_id)
		return 0;
	fd = mt_debuginfod_find(module->debuginfod, MT_DEBUGINFOD_EXECUTABLE, file->build_id,
				file->n_build_id, file->path, &path);
	if (fd < 0)
		return 0;
	free(path);
	memcpy(reason, module->reason, sizeof(reason));
	module->status = MT_MODULE_VERIFIED;
	module->reason[0] = 0;
	module->packed = NULL;
	err = load(module, fd, NULL, 0);
	if (!err)
		check_build_id(module, file, true);
	/* What was wrong first is what people can do something about. */
	if (module->status != MT_MODULE_VERIFIED)
		memcpy(module->reason, reason, sizeof(reason));
	return err;
}

static enum mt_module_status note_jit(char *reason)
{
	snprintf(reason, MT_REASON_MAX, "code compiled at run time");
	return MT_MODULE_NO_FILE;
}

/* Where it is found, and whether what is there has still to be proved by its contents. */
struct source {
	uint8_t *memory;
	size_t size;
	int fd;
	bool proof;
};

static void find_file(struct mt_module *module, const struct mt_file *file,
		      const struct mt_module_options *options, struct source *source)
{
	module->packed = mt_pack_find(options->pack, file);
	/* What the pack lacks may be here now. */
	if (module->packed && !module->packed->own && options->sysroot)
		module->packed = NULL;
	if (module->packed && module->packed->own)
		take_packed(module, options->pack);
	else if (options->profile && mt_module_profile_take(module, file, options->profile,
							    &source->memory, &source->size))
		module->packed = NULL;
	else if (module->packed)
		take_packed(module, options->pack);
	else if (!strcmp(file->path, "[vdso]"))
		module->status = mt_module_file_vdso(options->kernel, &source->memory,
						     &source->size, module->reason);
	else if (mt_jit_is_dump(file->path))
		module->status = note_jit(module->reason);
	else if (options->sysroot)
		module->status = mt_module_file_open_below(options->sysroot, file, &source->fd,
							   module->reason);
	else
		module->status = mt_module_file_open(file, options, &source->fd, &source->proof,
						     module->reason);
}

int mt_module_open(const struct mt_file *file, const struct mt_module_options *options,
		   struct mt_module **ret_module)
{
	static const struct mt_module_options defaults;
	struct source source = { .fd = -1 };
	struct mt_module *module;
	int err;

	if (!options)
		options = &defaults;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	mt_image_init(&module->own);
	mt_image_init(&module->debug);
	mt_image_init(&module->alt);
	mt_image_init(&module->mini);
	mt_image_init(&module->package);
	module->path = strdup(file->path);
	module->debuginfod = options->debuginfod;
	err = set_folders(module, options);
	if (!module->path || err) {
		err = -ENOMEM;
		goto out_free;
	}

	find_file(module, file, options, &source);
	if (module->status == MT_MODULE_VERIFIED) {
		err = load(module, source.fd, source.memory, source.size);
		if (err)
			goto out_free;
		check_build_id(module, file, source.proof || options->sysroot || file->n_build_id);
	}
	if (module->status != MT_MODULE_VERIFIED) {
		err = fetch(module, file);
		if (err)
			goto out_free;
	}
	if (module->status != MT_MODULE_VERIFIED && options->profile)
		mt_module_profile_refuse(module, file, options->profile);
	*ret_module = module;
	return 0;

out_free:
	mt_module_free(module);
	return err;
}

void mt_module_free(struct mt_module *module)
{
	if (!module)
		return;
	dwarf_end(module->dwarf);
	dwarf_end(module->alt_dwarf);
	mt_module_split_release(module);
	mt_image_release(&module->package);
	mt_image_release(&module->alt);
	mt_image_release(&module->mini);
	mt_image_release(&module->debug);
	mt_image_release(&module->own);
	free(module->segments);
	free(module->debug_path);
	free(module->debug_dir);
	free(module->found_path);
	free(module->path);
	free(module);
}

enum mt_module_status mt_module_status(const struct mt_module *module)
{
	return module->status;
}

static const char *const status_names[] = {
	[MT_MODULE_VERIFIED] = "verified",
	[MT_MODULE_GONE] = "gone",
	[MT_MODULE_CHANGED] = "changed",
	[MT_MODULE_UNREADABLE] = "unreadable",
	[MT_MODULE_NOT_ELF] = "not_elf",
	[MT_MODULE_NO_FILE] = "no_file",
};

const char *mt_module_status_name(enum mt_module_status status)
{
	return status_names[status];
}

bool mt_module_status_find(const char *name, enum mt_module_status *ret_status)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(status_names); i++) {
		if (!strcmp(name, status_names[i])) {
			*ret_status = (enum mt_module_status)i;
			return true;
		}
	}
	return false;
}

const char *mt_module_reason(const struct mt_module *module)
{
	return module->reason;
}

const char *mt_module_path(const struct mt_module *module)
{
	return module->path;
}

const char *mt_module_package(const struct mt_module *module)
{
	return module->packed ? module->packed->package : NULL;
}

static uint32_t image_id(const struct mt_module *module, enum mt_module_image which)
{
	return which == MT_IMAGE_OWN ? module->packed->own :
	       which == MT_IMAGE_DEBUG ? module->packed->debug : module->packed->alt;
}

bool mt_module_image(struct mt_module *module, enum mt_module_image which,
		     const uint8_t **ret_bytes, size_t *ret_size)
{
	struct mt_image *image = &module->own;
	char *bytes;

	if (which == MT_IMAGE_DEBUG) {
		mt_module_debug_path(module);
		image = &module->debug;
	} else if (which == MT_IMAGE_ALT) {
		mt_module_dwarf(module);
		image = &module->alt;
	}
	if (!image->elf)
		return false;
	if (image->mapped) {
		if (!image->clean)
			image->clean = mt_pack_map_image(module->pack, image_id(module, which),
							 ret_size);
		*ret_bytes = image->clean;
		*ret_size = image->mapped_size;
		return image->clean;
	}
	bytes = elf_rawfile(image->elf, ret_size);
	*ret_bytes = (const uint8_t *)bytes;
	return bytes && *ret_size;
}

size_t mt_module_build_id(const struct mt_module *module, uint8_t ret_id[MT_BUILD_ID_MAX])
{
	memcpy(ret_id, module->build_id, module->build_id_len);
	return module->build_id_len;
}

size_t mt_module_segments(const struct mt_module *module, const struct mt_module_segment **ret)
{
	*ret = module->segments;
	return module->n_segments;
}

uint64_t mt_module_base_svma(const struct mt_module *module)
{
	uint64_t base = UINT64_MAX;
	size_t i;

	for (i = 0; i < module->n_segments; i++) {
		if (module->segments[i].vaddr < base)
			base = module->segments[i].vaddr;
	}
	return module->n_segments ? base : 0;
}

uint16_t mt_module_machine(const struct mt_module *module)
{
	return module->machine;
}

void mt_module_section(struct mt_module *module, const char *name, struct mt_section *ret_section)
{
	mt_image_section(&module->own, name, ret_section);
}

/* Is file range [inner, inner + inner_len) within [outer, outer + outer_len)? */
static bool range_within(uint64_t inner, uint64_t inner_len, uint64_t outer, uint64_t outer_len)
{
	return inner >= outer && inner - outer <= outer_len &&
	       inner_len <= outer_len - (inner - outer);
}

static bool segment_fits(const struct mt_module_segment *seg, uint64_t offset, uint64_t len,
			 uint64_t page)
{
	uint64_t start = seg->offset & ~(page - 1);
	uint64_t size = seg->offset - start + seg->filesz;

	if (page == 1)
		return range_within(offset, len, seg->offset, seg->filesz) ||
		       range_within(seg->offset, seg->filesz, offset, len);
	if (seg->filesz > UINT64_MAX / 2 || start > UINT64_MAX / 2)
		return false;
	return seg->filesz && range_within(offset, len, start, (size + page - 1) & ~(page - 1));
}

int mt_module_load_bias(const struct mt_module *module, uint64_t start, uint64_t len,
			uint64_t offset, uint64_t *ret_bias)
{
	/*
	 * What is recorded is executable, so an executable segment that fits goes before another
	 * that does. The page sizes are for a mapping that was split later (mprotect,
	 * munmap): it can begin in the page before the segment's first byte and end inside.
	 */
	static const struct { uint64_t page; bool any; } passes[] = {
		{ 1, false }, { 1, true }, { 4096, false }, { 65536, false },
	};
	const struct mt_module_segment *seg;
	size_t pass, i;

	for (pass = 0; pass < MT_ARRAY_SIZE(passes); pass++) {
		for (i = 0; i < module->n_segments; i++) {
			seg = &module->segments[i];
			if (!passes[pass].any && !(seg->flags & PF_X))
				continue;
			if (!segment_fits(seg, offset, len, passes[pass].page))
				continue;
			*ret_bias = start + (seg->offset - offset) - seg->vaddr;
			return 0;
		}
	}
	return -MT_E_NO_DATA;
}

Elf *mt_module_elf(struct mt_module *module)
{
	return module->own.elf;
}
