#include "record/elf_dynamic.h"

#include <errno.h>

#include "common/error.h"
#include "record/elf_image.h"

#define NEEDED_MAX 1024
#define ENTRIES_MAX 65536u	/* of a segment */
#define STRING_MAX 65536u	/* bytes: search paths can be long */

struct mt_elf_dynamic {
	char *interpreter;
	char *rpath;
	char *runpath;
	char **needed;
	size_t n_needed;
	size_t left;		/* bytes of text that may be added */
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

const Elf64_Phdr *mt_elf_dynamic_segment(const struct mt_elf_image *image)
{
	const Elf64_Phdr *last = NULL;
	size_t i;

	for (i = 0; i < image->n_phdrs; i++)
		if (image->phdrs[i].p_type == PT_DYNAMIC)
			last = &image->phdrs[i];
	return last;
}

bool mt_elf_dynamic_entry(const struct mt_elf_image *image, const Elf64_Phdr *phdr, size_t i,
			  Elf64_Dyn *ret_entry)
{
	if (i >= phdr->p_filesz / sizeof(*ret_entry))
		return false;
	if (i >= ENTRIES_MAX) {
		mt_elf_image_fail(image, -EFBIG);
		return false;
	}
	return phdr->p_offset <= image->size &&
	       mt_elf_image_get(image, phdr->p_offset + i * sizeof(*ret_entry), ret_entry,
				sizeof(*ret_entry)) && ret_entry->d_tag != DT_NULL;
}

/* Where the dynamic section's strings are in the file. */
static bool find_strings(const struct mt_elf_image *image, const Elf64_Phdr *phdr,
			 struct strings *ret_strings)
{
	uint64_t addr = 0, size = 0;
	Elf64_Dyn entry;
	int64_t offset;
	size_t i;

	for (i = 0; mt_elf_dynamic_entry(image, phdr, i, &entry); i++) {
		if (entry.d_tag == DT_STRTAB)
			addr = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			size = entry.d_un.d_val;
	}
	offset = mt_elf_image_offset(image, addr, 0);
	if (offset < 0 || !size)
		return false;
	ret_strings->table = (uint64_t)offset;
	ret_strings->size = size;
	return true;
}

static bool take(const struct mt_elf_image *image, struct mt_elf_dynamic *dynamic, size_t text)
{
	if (text > dynamic->left) {
		dynamic->left = 0;
		mt_elf_image_fail(image, -EFBIG);
		return false;
	}
	dynamic->left -= text;
	return true;
}

/* A copy in *field; there is none of what is none, and for what is too long the image fails. */
static int add_string(const struct mt_elf_image *image, const struct strings *strings,
		      uint64_t offset, struct mt_elf_dynamic *dynamic, char **field)
{
	char *text, *copy = NULL;
	int err = 0, len;

	if (!take(image, dynamic, 1))
		return 0;
	text = malloc(STRING_MAX);
	if (!text)
		return -ENOMEM;
	len = mt_elf_image_string(image, strings->table, strings->size, offset, text, STRING_MAX);
	/* Text that is read counts, whether or not it ends. */
	if (len == -E2BIG)
		mt_elf_image_fail(image, -EFBIG);
	if (take(image, dynamic, len < 0 ? STRING_MAX : (size_t)len) && len >= 0) {
		copy = strdup(text);
		err = copy ? 0 : -ENOMEM;
	}
	if (copy) {
		free(*field);
		*field = copy;
	}
	free(text);
	return err;
}

static int add_needed(const struct mt_elf_image *image, const struct strings *strings,
		      uint64_t offset, struct mt_elf_dynamic *dynamic)
{
	char **needed;
	int err;

	if (dynamic->n_needed == NEEDED_MAX)
		return 0;
	needed = reallocarray(dynamic->needed, dynamic->n_needed + 1, sizeof(*needed));
	if (!needed)
		return -ENOMEM;
	dynamic->needed = needed;
	needed += dynamic->n_needed;
	*needed = NULL;
	err = add_string(image, strings, offset, dynamic, needed);
	dynamic->n_needed += *needed != NULL;
	return err;
}

static int read_entries(const struct mt_elf_image *image, const Elf64_Phdr *phdr,
			struct mt_elf_dynamic *dynamic)
{
	struct strings strings;
	Elf64_Dyn entry;
	size_t i;
	int err = 0;

	if (!find_strings(image, phdr, &strings))
		return 0;
	for (i = 0; !err && mt_elf_dynamic_entry(image, phdr, i, &entry); i++) {
		if (entry.d_tag == DT_NEEDED)
			err = add_needed(image, &strings, entry.d_un.d_val, dynamic);
		else if (entry.d_tag == DT_RPATH)
			err = add_string(image, &strings, entry.d_un.d_val, dynamic,
					 &dynamic->rpath);
		else if (entry.d_tag == DT_RUNPATH)
			err = add_string(image, &strings, entry.d_un.d_val, dynamic,
					 &dynamic->runpath);
	}
	return err;
}

/* The interpreter first, so that text is left for it; of several the first, as to the kernel. */
static int read_headers(const struct mt_elf_image *image, struct mt_elf_dynamic *dynamic)
{
	const Elf64_Phdr *interpreter = mt_elf_image_segment(image, PT_INTERP);
	const Elf64_Phdr *segment = mt_elf_dynamic_segment(image);
	struct strings strings;
	int err = 0;

	if (interpreter) {
		strings = (struct strings){ interpreter->p_offset, interpreter->p_filesz };
		err = add_string(image, &strings, 0, dynamic, &dynamic->interpreter);
	}
	if (!err && segment)
		err = read_entries(image, segment, dynamic);
	return err ? err : mt_elf_image_failed(image);
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
	if (dynamic)
		dynamic->left = MT_ELF_DYNAMIC_TEXT_MAX;
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
