#include "record/elf_image.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

#define FILE_BYTES_MAX (1ull << 40)
#define PART 65536u		/* read at once */
#define NOTES_MAX 64u		/* segments of notes looked at ... */
#define NOTE_BYTES_MAX 65536u	/* ... and of each so much */

struct mt_elf_file {
	int fd;
	int failed;		/* -errno of the first failure */
	uint64_t n_read;	/* bytes */
	uint8_t read[];		/* a bit for each part */
};

void mt_elf_image_fail(const struct mt_elf_image *image, int err)
{
	if (image->file && !image->file->failed)
		image->file->failed = err;
}

int mt_elf_image_failed(const struct mt_elf_image *image)
{
	return image->file ? image->file->failed : 0;
}

static bool is_read(const struct mt_elf_file *file, uint64_t part)
{
	return file->read[part / 8] >> part % 8 & 1;
}

/* *ret_got is less than n where the file was cut, or with false, which is remembered. */
static bool read_file(const struct mt_elf_image *image, uint64_t offset, uint8_t *to, size_t n,
		      size_t *ret_got)
{
	ssize_t got = 1;
	size_t at = 0;

	for (; at < n && got; at += got > 0 ? (size_t)got : 0) {
		got = pread(image->file->fd, to + at, n - at, (off_t)(offset + at));
		if (got < 0 && errno != EINTR) {
			mt_elf_image_fail(image, -errno);
			break;
		}
	}
	*ret_got = at;
	return got >= 0;
}

/* Parts [first, end), none of which has been read. Memory there comes into being with it. */
static bool read_parts(const struct mt_elf_image *image, uint64_t first, uint64_t end)
{
	struct mt_elf_file *file = image->file;
	uint64_t at = first * PART, stop = end * PART < image->size ? end * PART : image->size;
	uint8_t *bytes = (uint8_t *)(uintptr_t)image->bytes;
	size_t got;

	if (stop - at > MT_ELF_IMAGE_READ_MAX - file->n_read) {
		mt_elf_image_fail(image, -EFBIG);
		return false;
	}
	if (mprotect(bytes + at, stop - at, PROT_READ | PROT_WRITE)) {
		mt_elf_image_fail(image, -errno);
		return false;
	}
	file->n_read += stop - at;
	if (!read_file(image, at, bytes + at, stop - at, &got))
		return false;
	for (; first < end; first++)
		file->read[first / 8] |= (uint8_t)(1u << first % 8);
	return true;
}

static bool load(const struct mt_elf_image *image, uint64_t offset, uint64_t size)
{
	uint64_t part = offset / PART, end = (offset + size + PART - 1) / PART, first;

	while (part < end) {
		for (first = part; part < end && !is_read(image->file, part); part++)
			;
		if (part > first && !read_parts(image, first, part))
			return false;
		while (part < end && is_read(image->file, part))
			part++;
	}
	return true;
}

const uint8_t *mt_elf_image_bytes(const struct mt_elf_image *image, uint64_t offset, uint64_t size)
{
	if (offset > image->size || size > image->size - offset ||
	    (image->file && !load(image, offset, size)))
		return NULL;
	return image->bytes + offset;
}

size_t mt_elf_image_copy(const struct mt_elf_image *image, uint64_t offset, void *ret_bytes,
			 size_t n)
{
	size_t got;

	if (offset > image->size)
		return 0;
	if (n > image->size - offset)
		n = image->size - offset;
	if (!image->file) {
		memcpy(ret_bytes, image->bytes + offset, n);
		return n;
	}
	read_file(image, offset, ret_bytes, n, &got);
	return got;
}

const void *mt_elf_image_range(const struct mt_elf_image *image, uint64_t offset, uint64_t size)
{
	return offset % 8 ? NULL : mt_elf_image_bytes(image, offset, size);
}

const char *mt_elf_image_string(const struct mt_elf_image *image, uint64_t table, uint64_t size,
				uint64_t offset)
{
	uint64_t at, end, n;
	const uint8_t *bytes;

	if (table > image->size || size > image->size - table || offset >= size)
		return NULL;
	end = table + size;
	/* Not all of the table: strings are short. */
	for (at = table + offset; at < end; at += n) {
		n = PART - at % PART < end - at ? PART - at % PART : end - at;
		bytes = mt_elf_image_bytes(image, at, n);
		if (!bytes)
			return NULL;
		if (memchr(bytes, '\0', n))
			return (const char *)image->bytes + table + offset;
	}
	return NULL;
}

const Elf64_Shdr *mt_elf_image_section(const struct mt_elf_image *image, const char *name)
{
	const Elf64_Ehdr *ehdr = mt_elf_image_range(image, 0, sizeof(*ehdr));
	size_t i, size = strlen(name) + 1;
	const Elf64_Shdr *names;
	const uint8_t *found;

	if (!ehdr || ehdr->e_shstrndx >= image->n_shdrs)
		return NULL;
	names = &image->shdrs[ehdr->e_shstrndx];
	if (names->sh_offset > image->size || names->sh_size > image->size - names->sh_offset)
		return NULL;
	for (i = 0; i < image->n_shdrs; i++) {
		uint64_t at = image->shdrs[i].sh_name;

		if (at > names->sh_size || size > names->sh_size - at)
			continue;
		found = mt_elf_image_bytes(image, names->sh_offset + at, size);
		if (found && !memcmp(found, name, size))
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
	if (size > NOTE_BYTES_MAX)
		size = NOTE_BYTES_MAX;
	bytes = mt_elf_image_bytes(image, offset, size);
	if (!bytes)
		return 0;
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
	unsigned int left = NOTES_MAX;
	size_t i, n = 0;

	for (i = 0; i < image->n_phdrs && !n && left; i++) {
		const Elf64_Phdr *phdr = &image->phdrs[i];

		if (phdr->p_type != PT_NOTE)
			continue;
		left--;
		n = find_build_id(image, phdr->p_offset, phdr->p_filesz, phdr->p_align, ret_id);
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
	if ((uint64_t)st.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	image.size = (size_t)st.st_size;
	/* Not mapped: what is behind the end of a file that is cut would take us with it. */
	bytes = mmap(NULL, image.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	image.bytes = bytes;
	image.file = calloc(1, sizeof(*image.file) + image.size / PART / 8 + 1);
	if (image.file)
		image.file->fd = fd;
	err = image.file ? parse(&image) : -ENOMEM;
	/* What it is, is not known. */
	if (err && image.file && image.file->failed)
		err = image.file->failed;
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
	free(image->file);
}
