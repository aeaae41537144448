#include "record/elf_image.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/error.h"

const void *mt_elf_image_range(const struct mt_elf_image *image, uint64_t offset, uint64_t size)
{
	if (offset > image->size || size > image->size - offset || offset % 8 != 0)
		return NULL;
	return image->bytes + offset;
}

const char *mt_elf_image_string(const struct mt_elf_image *image, uint64_t table, uint64_t size,
				uint64_t offset)
{
	const char *string;

	if (table > image->size || size > image->size - table || offset >= size)
		return NULL;
	string = (const char *)image->bytes + table + offset;
	return memchr(string, '\0', size - offset) ? string : NULL;
}

const Elf64_Shdr *mt_elf_image_section(const struct mt_elf_image *image, const char *name)
{
	const Elf64_Ehdr *ehdr = (const void *)image->bytes;
	const Elf64_Shdr *names;
	const char *found;
	size_t i;

	if (ehdr->e_shstrndx >= image->n_shdrs)
		return NULL;
	names = &image->shdrs[ehdr->e_shstrndx];
	for (i = 0; i < image->n_shdrs; i++) {
		found = mt_elf_image_string(image, names->sh_offset, names->sh_size,
					    image->shdrs[i].sh_name);
		if (found && !strcmp(found, name))
			return &image->shdrs[i];
	}
	return NULL;
}

int64_t mt_elf_image_offset(const struct mt_elf_image *image, uint64_t vaddr, uint32_t flags)
{
	size_t i;

	for (i = 0; i < image->n_phdrs; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & flags) == flags &&
		    vaddr >= phdr->p_vaddr && vaddr - phdr->p_vaddr < phdr->p_filesz &&
		    phdr->p_offset <= INT64_MAX - phdr->p_filesz)
			return (int64_t)(vaddr - phdr->p_vaddr + phdr->p_offset);
	}
	return -1;
}

static int parse(struct mt_elf_image *image)
{
	const Elf64_Ehdr *ehdr = mt_elf_image_range(image, 0, sizeof(*ehdr));

	if (!ehdr || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
	    ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return -MT_E_NOT_ELF;
	image->machine = ehdr->e_machine;
	if (ehdr->e_phentsize == sizeof(Elf64_Phdr))
		image->phdrs = mt_elf_image_range(image, ehdr->e_phoff,
						  ehdr->e_phnum * sizeof(Elf64_Phdr));
	if (ehdr->e_shentsize == sizeof(Elf64_Shdr) && ehdr->e_shoff)
		image->shdrs = mt_elf_image_range(image, ehdr->e_shoff,
						  ehdr->e_shnum * sizeof(Elf64_Shdr));
	image->n_phdrs = image->phdrs ? ehdr->e_phnum : 0;
	image->n_shdrs = image->shdrs ? ehdr->e_shnum : 0;
	return 0;
}

int mt_elf_image_read(const void *bytes, size_t size, struct mt_elf_image *ret_image)
{
	struct mt_elf_image image = { .bytes = bytes, .size = size };
	int err = parse(&image);

	if (!err)
		*ret_image = image;
	return err;
}

/* In the notes [offset, offset + size) of the file. */
static size_t find_build_id(const struct mt_elf_image *image, uint64_t offset, uint64_t size,
			    uint64_t align, uint8_t *id)
{
	uint64_t pad = align == 8 ? 7 : 3, at, name, desc;
	const uint8_t *bytes;
	Elf64_Nhdr note;

	if (offset > image->size || size > image->size - offset)
		return 0;
	bytes = image->bytes + offset;
	for (at = 0; size - at >= sizeof(note); at += name + desc) {
		memcpy(&note, bytes + at, sizeof(note));
		at += sizeof(note);
		name = (note.n_namesz + pad) & ~pad;
		desc = (note.n_descsz + pad) & ~pad;
		if (name > size - at || note.n_descsz > size - at - name)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(bytes + at, "GNU", 4) && note.n_descsz &&
		    note.n_descsz <= MT_BUILD_ID_MAX) {
			memcpy(id, bytes + at + name, note.n_descsz);
			return note.n_descsz;
		}
		if (desc > size - at - name)
			break;
	}
	return 0;
}

size_t mt_elf_image_build_id(const struct mt_elf_image *image, uint8_t ret_id[MT_BUILD_ID_MAX])
{
	size_t i, n = 0;

	for (i = 0; i < image->n_phdrs && !n; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type == PT_NOTE)
			n = find_build_id(image, phdr->p_offset, phdr->p_filesz, phdr->p_align,
					  ret_id);
	}
	return n;
}

int mt_elf_image_open(int fd, struct mt_elf_image *ret_image)
{
	struct mt_elf_image image = {};
	struct stat st;
	void *bytes;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -MT_E_NOT_ELF;
	/* Shared: in private mappings the kernel shows the breakpoints of uprobes, anybody's. */
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	image.bytes = bytes;
	image.size = (size_t)st.st_size;
	err = parse(&image);
	if (err) {
		mt_elf_image_close(&image);
		return err;
	}
	*ret_image = image;
	return 0;
}

void mt_elf_image_close(struct mt_elf_image *image)
{
	munmap((void *)(uintptr_t)image->bytes, image->size);
}
