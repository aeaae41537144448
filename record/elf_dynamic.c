#include "record/elf_dynamic.h"

#include <errno.h>
#include <stdbool.h>

#include "common/error.h"
#include "record/elf_image.h"

#define NEEDED_MAX 1024

struct mt_elf_dynamic {
	char *interpreter;
	char *rpath;
	char *runpath;
	char **needed;
	size_t n_needed;
};

struct strings {
	uint64_t table;		/* file offset */
	uint64_t size;
};

void mt_elf_dynamic_free(struct mt_elf_dynamic *dynamic)
{
	if (!dynamic)
		return;
	while (dynamic->n_needed)
		free(dynamic->needed[--dynamic->n_needed]);
	free(dynamic->needed);
	free(dynamic->interpreter);
	free(dynamic->rpath);
	free(dynamic->runpath);
	free(dynamic);
}

/* Where the dynamic section's strings are in the file. */
static bool find_strings(const struct mt_elf_image *image, const Elf64_Dyn *entries, size_t n,
			 struct strings *ret_strings)
{
	uint64_t addr = 0, size = 0;
	int64_t offset;
	size_t i;

	for (i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			addr = entries[i].d_un.d_ptr;
		else if (entries[i].d_tag == DT_STRSZ)
			size = entries[i].d_un.d_val;
	}
	offset = mt_elf_image_offset(image, addr, 0);
	if (offset < 0 || !size)
		return false;
	ret_strings->table = (uint64_t)offset;
	ret_strings->size = size;
	return true;
}

static int add_needed(struct mt_elf_dynamic *dynamic, const char *name)
{
	char **needed;

	if (dynamic->n_needed == NEEDED_MAX)
		return 0;
	needed = reallocarray(dynamic->needed, dynamic->n_needed + 1, sizeof(*needed));
	if (!needed)
		return -ENOMEM;
	dynamic->needed = needed;
	dynamic->needed[dynamic->n_needed] = strdup(name);
	if (!dynamic->needed[dynamic->n_needed])
		return -ENOMEM;
	dynamic->n_needed++;
	return 0;
}

static int set_string(char **field, const char *text)
{
	free(*field);
	*field = strdup(text);
	return *field ? 0 : -ENOMEM;
}

static int read_entries(const struct mt_elf_image *image, const Elf64_Dyn *entries, size_t n,
			struct mt_elf_dynamic *dynamic)
{
	struct strings strings;
	const char *text;
	size_t i;
	int err = 0;

	if (!find_strings(image, entries, n, &strings))
		return 0;
	for (i = 0; i < n && entries[i].d_tag != DT_NULL && !err; i++) {
		if (entries[i].d_tag != DT_NEEDED && entries[i].d_tag != DT_RPATH &&
		    entries[i].d_tag != DT_RUNPATH)
			continue;
		text = mt_elf_image_string(image, strings.table, strings.size,
					   entries[i].d_un.d_val);
		if (!text)
			continue;
		if (entries[i].d_tag == DT_NEEDED)
			err = add_needed(dynamic, text);
		else if (entries[i].d_tag == DT_RPATH)
			err = set_string(&dynamic->rpath, text);
		else
			err = set_string(&dynamic->runpath, text);
	}
	return err;
}

static int read_headers(const struct mt_elf_image *image, struct mt_elf_dynamic *dynamic)
{
	const char *interpreter;
	const void *entries;
	size_t i;
	int err = 0;

	for (i = 0; i < image->n_phdrs && !err; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type == PT_INTERP) {
			interpreter = mt_elf_image_string(image, phdr->p_offset, phdr->p_filesz, 0);
			if (interpreter)
				err = set_string(&dynamic->interpreter, interpreter);
		} else if (phdr->p_type == PT_DYNAMIC) {
			entries = mt_elf_image_range(image, phdr->p_offset, phdr->p_filesz);
			if (entries)
				err = read_entries(image, entries,
						   phdr->p_filesz / sizeof(Elf64_Dyn), dynamic);
		}
	}
	return err;
}

int mt_elf_dynamic_read(int fd, struct mt_elf_dynamic **ret_dynamic)
{
	struct mt_elf_dynamic *dynamic;
	struct mt_elf_image image;
	int err;

	err = mt_elf_image_open(fd, &image);
	if (err)
		return err;
	dynamic = calloc(1, sizeof(*dynamic));
	err = dynamic ? read_headers(&image, dynamic) : -ENOMEM;
	mt_elf_image_close(&image);
	if (err) {
		mt_elf_dynamic_free(dynamic);
		return err;
	}
	*ret_dynamic = dynamic;
	return 0;
}

const char *mt_elf_dynamic_interpreter(const struct mt_elf_dynamic *dynamic)
{
	return dynamic->interpreter ? dynamic->interpreter : "";
}

const char *mt_elf_dynamic_rpath(const struct mt_elf_dynamic *dynamic)
{
	return dynamic->rpath ? dynamic->rpath : "";
}

const char *mt_elf_dynamic_runpath(const struct mt_elf_dynamic *dynamic)
{
	return dynamic->runpath ? dynamic->runpath : "";
}

size_t mt_elf_dynamic_needed(const struct mt_elf_dynamic *dynamic)
{
	return dynamic->n_needed;
}

const char *mt_elf_dynamic_needed_at(const struct mt_elf_dynamic *dynamic, size_t index)
{
	return dynamic->needed[index];
}
