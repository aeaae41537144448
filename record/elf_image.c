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
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
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
