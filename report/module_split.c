#include "report/module_split.h"

#include "common/error.h"
#include "report/dwp.h"
#include "report/module_file.h"
#include "report/module_impl.h"
#include "report/pack.h"
#include "report/session.h"

#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT_BYTES 64u
#define UNITS_MAX (1u << 20)
#define UNIT_BYTES_MAX (1ull << 30)
#define STR_OFFSETS_HEADER 8u

/* Room for one more string behind those of a section. */
static int extend(Elf_Scn *scn, uint8_t **ret_bytes, size_t *ret_slot)
{
	Elf_Data *data = elf_getdata(scn, NULL);	/* what libdw takes */
	uint8_t *bytes;

	if (!data || !data->d_buf || !data->d_size || data->d_size > UINT32_MAX - SLOT_BYTES)
		return 0;
	bytes = calloc(1, data->d_size + SLOT_BYTES);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, data->d_buf, data->d_size);
	*ret_bytes = bytes;
	*ret_slot = data->d_size;
	data->d_buf = bytes;
	data->d_size += SLOT_BYTES;
	return 0;
}

int mt_module_split_prepare(struct mt_module *module, Elf *elf)
{
	static const char *const names[2] = { ".debug_str", ".debug_line_str" };
	struct mt_module_split *split = &module->split;
	const struct mt_image image = { .elf = elf, .n_sections = 1 };
	struct mt_section section;
	GElf_Shdr shdr;
	Elf_Scn *scn;
	int i, err = 0;

	/* Split units, and few others, have their addresses there. */
	if (!mt_image_find_section(&image, ".debug_addr", &shdr))
		return 0;
	split->elf = elf;
	for (i = 0; i < 2 && !err; i++) {
		/* Unpacked, if it was compressed. */
		mt_image_section(&image, names[i], &section);
		scn = mt_image_find_section(&image, names[i], &shdr);
		if (scn && section.data)
			err = extend(scn, &split->strings[i], &split->slot[i]);
	}
	mt_image_section(&image, ".debug_str_offsets", &section);
	split->offsets = (uint8_t *)(uintptr_t)section.data;
	split->offsets_size = section.size;
	return err;
}

void mt_module_split_release(struct mt_module *module)
{
	struct mt_module_split *split = &module->split;
	size_t i;

	for (i = 0; i < split->n_units; i++) {
		if (split->units[i].mapped)
			munmap((void *)(uintptr_t)split->units[i].bytes, split->units[i].size);
		else
			free((void *)(uintptr_t)split->units[i].bytes);
	}
	free(split->units);
	free(split->strings[0]);
	free(split->strings[1]);
}

/* Take the bytes, also when it fails. */
static int add_unit(struct mt_module *module, uint64_t id, uint8_t *bytes, size_t size, bool mapped)
{
	struct mt_module_split *split = &module->split;
	size_t cap = split->cap_units ? 2 * split->cap_units : 16;
	struct mt_split_unit *units = split->units;

	if (split->n_units == split->cap_units) {
		units = split->n_units < UNITS_MAX ?
			reallocarray(units, cap, sizeof(*units)) : NULL;
		if (!units) {
			if (mapped)
				munmap(bytes, size);
			else
				free(bytes);
			return -ENOMEM;
		}
		split->units = units;
		split->cap_units = cap;
	}
	units[split->n_units++] = (struct mt_split_unit){ id, bytes, size, mapped };
	return 0;
}

/* Has this .dwo file, proved by nothing yet, a unit of this id? */
static bool has_unit(const uint8_t *bytes, size_t size, uint64_t id)
{
	Elf *elf = elf_memory((char *)(uintptr_t)bytes, size);
	const struct mt_image image = { .elf = elf, .n_sections = 1 };
	Dwarf *dwarf = NULL;
	Dwarf_CU *cu = NULL;
	uint64_t have;
	bool found = false;

	if (elf && elf_kind(elf) == ELF_K_ELF && mt_image_sizes_sane(&image))
		dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	while (dwarf && !found && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, NULL, NULL))
		found = !dwarf_cu_info(cu, NULL, NULL, NULL, NULL, &have, NULL, NULL) &&
			have == id;
	dwarf_end(dwarf);
	elf_end(elf);
	return found;
}

/* Closes fd. */
static bool take_file(struct mt_module *module, int fd, uint64_t id)
{
	struct stat st;
	void *bytes;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) < 0 || st.st_size <= 0 || (uint64_t)st.st_size > UNIT_BYTES_MAX) {
		close(fd);
		return false;
	}
	/* libelf writes to what it is given. */
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	if (!has_unit(bytes, (size_t)st.st_size, id)) {
		munmap(bytes, (size_t)st.st_size);
		return false;
	}
	return !add_unit(module, id, bytes, (size_t)st.st_size, true);
}

static bool take_packed(struct mt_module *module, uint64_t id)
{
	const struct mt_file key = { .path = MT_SPLIT_PATH, .generation = id };
	const struct mt_packed *packed = mt_pack_find(module->pack, &key);
	uint8_t *bytes;
	size_t size;

	bytes = packed ? mt_pack_map_image(module->pack, packed->own, &size) : NULL;
	if (!bytes)
		return false;
	if (!has_unit(bytes, size, id)) {
		munmap(bytes, size);
		return false;
	}
	return !add_unit(module, id, bytes, size, true);
}

/* The package beside the file or its debug file. */
static void open_package(struct mt_module *module)
{
	const char *paths[2] = { module->found_path, mt_module_debug_path(module) };
	static const char tail[] = ".debug";
	char path[PATH_MAX];
	int i, fd, cut;
	size_t n;

	module->split.package_tried = true;
	for (i = 0; i < 4 && !module->package.elf; i++) {
		n = strlen(paths[i / 2]);
		cut = n > sizeof(tail) && !strcmp(paths[i / 2] + n + 1 - sizeof(tail), tail);
		if (!n || (i % 2 && !cut))
			continue;
		if (snprintf(path, sizeof(path), "%.*s.dwp",
			     (int)(i % 2 ? n + 1 - sizeof(tail) : n), paths[i / 2]) >=
		    (int)sizeof(path))
			continue;
		fd = mt_module_file_open_regular(path);
		if (fd >= 0 && mt_image_open(&module->package, fd, NULL, 0))
			mt_image_init(&module->package);
	}
}

static bool take_from_package(struct mt_module *module, uint64_t id)
{
	struct mt_dwp dwp;
	uint8_t *bytes;
	size_t size;
	int i;

	if (!module->split.package_tried)
		open_package(module);
	if (!module->package.elf)
		return false;
	for (i = 0; i < MT_DWP_SECTIONS; i++)
		mt_image_section(&module->package, mt_dwp_section_name(i), &dwp.sections[i]);
	if (mt_dwp_extract(&dwp, id, &bytes, &size))
		return false;
	if (!has_unit(bytes, size, id)) {
		free(bytes);
		return false;
	}
	return !add_unit(module, id, bytes, size, false);
}

static const char *text_of(Dwarf_Die *die, unsigned int name, unsigned int gnu_name)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(die, name, &attr) && !(gnu_name && dwarf_attr(die, gnu_name, &attr)))
		return NULL;
	return dwarf_formstring(&attr);
}

static bool try_path(struct mt_module *module, uint64_t id, const char *sysroot, const char *folder,
		     int n_folder, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%.*s%s%s", sysroot, n_folder, folder,
		     n_folder ? "/" : "", name) >= (int)sizeof(path))
		return false;
	return take_file(module, mt_module_file_open_regular(path), id);
}

/* Where the compiler put it, and beside what has the debug information. */
static bool take_from_files(struct mt_module *module, Dwarf_Die *skeleton, uint64_t id)
{
	const char *name = text_of(skeleton, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
	const char *folder = text_of(skeleton, DW_AT_comp_dir, 0);
	const char *beside[2] = { module->found_path, mt_module_debug_path(module) };
	size_t n_root = strlen(module->found_path) - strlen(module->path);
	const char *base, *slash;
	char root[PATH_MAX];
	int i;

	if (!name || !*name || n_root >= sizeof(root))
		return false;
	snprintf(root, sizeof(root), "%.*s", (int)n_root, module->found_path);
	slash = strrchr(name, '/');
	base = slash ? slash + 1 : name;
	if (name[0] == '/' ? try_path(module, id, root, "", 0, name) :
	    folder && try_path(module, id, root, folder, (int)strlen(folder), name))
		return true;
	for (i = 0; i < 2; i++) {
		slash = strrchr(beside[i], '/');
		if (!slash)
			continue;
		if (try_path(module, id, "", beside[i], (int)(slash - beside[i]), base) ||
		    (name[0] != '/' && base != name &&
		     try_path(module, id, "", beside[i], (int)(slash - beside[i]), name)))
			return true;
	}
	return false;
}

/* Four bytes that refer to the unit's name: in the DIE, or in the table that it refers to. */
static uint8_t *find_reference(struct mt_module *module, Dwarf_Die *skeleton, int *ret_section)
{
	struct mt_module_split *split = &module->split;
	Dwarf_Attribute attr, base_attr;
	uint8_t address_size, offset_size;
	Dwarf_Word base = STR_OFFSETS_HEADER;
	uint64_t index = 0;
	Dwarf_Die unit;
	int i;

	if (!dwarf_diecu(skeleton, &unit, &address_size, &offset_size) || offset_size != 4 ||
	    (!dwarf_attr(skeleton, DW_AT_dwo_name, &attr) &&
	     !dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attr)))
		return NULL;
	*ret_section = attr.form == DW_FORM_line_strp;
	switch (attr.form) {
	case DW_FORM_strp:
	case DW_FORM_line_strp:
		return attr.valp;
	case DW_FORM_strx:
		/* libdw has read it already: it is whole. */
		for (i = 0; i < 9; i++) {
			index |= (uint64_t)(attr.valp[i] & 0x7f) << (7 * i);
			if (!(attr.valp[i] & 0x80))
				break;
		}
		break;
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
		memcpy(&index, attr.valp, attr.form - DW_FORM_strx1 + 1);
		break;
	default:
		return NULL;
	}
	if (dwarf_attr(skeleton, DW_AT_str_offsets_base, &base_attr))
		dwarf_formudata(&base_attr, &base);
	if (base > split->offsets_size || index > (split->offsets_size - base) / 4 ||
	    split->offsets_size - base - index * 4 < 4)
		return NULL;
	return split->offsets + base + index * 4;
}

/* Private memory of this process that may be mapped for reading only. */
static bool make_writable(uint8_t *at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at & ~(page - 1);
	uintptr_t to = ((uintptr_t)at + 4 + page - 1) & ~(page - 1);

	return !mprotect((void *)from, to - from, PROT_READ | PROT_WRITE);
}

/* Let libdw find the unit in a file that has only it. */
static bool show(struct mt_module *module, Dwarf_Die *skeleton, const struct mt_split_unit *found,
		 Dwarf_Die *ret_unit)
{
	struct mt_module_split *split = &module->split;
	uint8_t *reference, kept[4];
	int section = 0, fd;
	uint32_t slot;
	bool shown;

	reference = find_reference(module, skeleton, &section);
	if (!reference || !split->slot[section] || !make_writable(reference))
		return false;
	fd = memfd_create("mt-report split unit", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	if (write(fd, found->bytes, found->size) != (ssize_t)found->size) {
		close(fd);
		return false;
	}
	memset(ret_unit, 0, sizeof(*ret_unit));
	slot = (uint32_t)split->slot[section];
	snprintf((char *)split->strings[section] + slot, SLOT_BYTES, "/proc/self/fd/%d", fd);
	memcpy(kept, reference, sizeof(kept));
	memcpy(reference, &slot, sizeof(slot));
	shown = !dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, ret_unit, NULL, NULL, NULL) &&
		ret_unit->addr;
	memcpy(reference, kept, sizeof(kept));
	close(fd);
	return shown;
}

bool mt_module_split_find(struct mt_module *module, Dwarf_Die *skeleton, Dwarf_Die *ret_unit)
{
	struct mt_module_split *split = &module->split;
	uint64_t id;

	if (!split->elf ||
	    dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL))
		return false;
	if (module->packed ? !take_packed(module, id) :
	    !take_from_package(module, id) && !take_from_files(module, skeleton, id))
		return false;
	return show(module, skeleton, &split->units[split->n_units - 1], ret_unit);
}

bool mt_module_split_image(struct mt_module *module, size_t index, uint64_t *ret_id,
			   const uint8_t **ret_bytes, size_t *ret_size)
{
	const struct mt_split_unit *unit;

	if (index >= module->split.n_units)
		return false;
	unit = &module->split.units[index];
	*ret_id = unit->id;
	*ret_bytes = unit->bytes;
	*ret_size = unit->size;
	return true;
}
