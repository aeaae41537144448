#include "record/elf_image.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

#define FILE_BYTES_MAX (1ull << 40)
#define PART 16384u		/* read at once ... */
#define PARTS 32u		/* ... and so many are in memory */
#define NO_PART UINT64_MAX
#define STRING_PIECE 64u	/* most are shorter */
#define SECTION_NAME_MAX 64u
#define NOTES_MAX 64u		/* segments of notes looked at ... */
#define NOTE_BYTES_MAX 65536u	/* ... and of each so much */

struct part {
	uint64_t index;		/* in the file */
	uint64_t used;		/* a later one is larger */
};

struct mt_elf_file {
	int fd;
	int failed;		/* -errno of the first failure */
	uint64_t left;		/* bytes that may be read */
	uint64_t uses;
	uint32_t last;		/* part that was used */
	struct part parts[PARTS];
	Elf64_Phdr phdrs[MT_ELF_PHDRS_MAX];
	uint8_t bytes[PARTS][PART];
};
_Static_assert(sizeof(struct mt_elf_file) <= MT_ELF_IMAGE_HELD_MAX, "that is all that is held");

void mt_elf_image_fail(const struct mt_elf_image *image, int err)
{
	if (image->file && !image->file->failed)
		image->file->failed = err;
}

int mt_elf_image_failed(const struct mt_elf_image *image)
{
	return image->file ? image->file->failed : 0;
}

/* *ret_got is less than n where the file was cut, or with false, which is remembered. */
static bool read_file(const struct mt_elf_image *image, uint64_t offset, uint8_t *to, size_t n,
		      size_t *ret_got)
{
	ssize_t got = 1;
	size_t at = 0;

	*ret_got = 0;
	if (n > image->file->left) {
		mt_elf_image_fail(image, -EFBIG);
		return false;
	}
	image->file->left -= n;
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

static uint32_t oldest_part(const struct mt_elf_file *file)
{
	uint32_t i, oldest = 0;

	for (i = 1; i < PARTS; i++)
		if (file->parts[i].used < file->parts[oldest].used)
			oldest = i;
	return oldest;
}

/* In the place of the one that has not been used for longest. */
static bool read_part(const struct mt_elf_image *image, uint64_t index)
{
	struct mt_elf_file *file = image->file;
	uint32_t place = oldest_part(file);
	uint64_t at = index * PART;
	size_t want = image->size - at < PART ? image->size - at : PART, got;

	file->parts[place].index = NO_PART;
	if (!read_file(image, at, file->bytes[place], want, &got))
		return false;
	memset(file->bytes[place] + got, 0, PART - got);
	file->parts[place].index = index;
	file->last = place;
	return true;
}

/* A part of the file; NULL: it cannot be read. Borrowed until the next one. */
static const uint8_t *part_at(const struct mt_elf_image *image, uint64_t index)
{
	struct mt_elf_file *file = image->file;
	uint32_t i;

	if (file->parts[file->last].index != index) {
		for (i = 0; i < PARTS && file->parts[i].index != index; i++)
			;
		if (i < PARTS)
			file->last = i;
		else if (!read_part(image, index))
			return NULL;
	}
	file->parts[file->last].used = ++file->uses;
	return file->bytes[file->last];
}

bool mt_elf_image_get(const struct mt_elf_image *image, uint64_t offset, void *ret_bytes, size_t n)
{
	uint8_t *to = ret_bytes;
	const uint8_t *part;
	size_t in_part;

	if (offset > image->size || n > image->size - offset)
		return false;
	if (!image->file) {
		memcpy(to, image->bytes + offset, n);
		return true;
	}
	for (; n; n -= in_part, to += in_part, offset += in_part) {
		in_part = PART - offset % PART < n ? PART - offset % PART : n;
		part = part_at(image, offset / PART);
		if (!part)
			return false;
		memcpy(to, part + offset % PART, in_part);
	}
	return true;
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

int mt_elf_image_string(const struct mt_elf_image *image, uint64_t table, uint64_t size,
			uint64_t offset, char *ret_text, size_t n)
{
	size_t len, piece;
	const char *end;
	bool cut;

	if (table > image->size || size > image->size - table || offset >= size)
		return -EINVAL;
	cut = n < size - offset;
	if (!cut)
		n = size - offset;
	for (len = 0; len < n; len += piece) {
		piece = n - len < STRING_PIECE ? n - len : STRING_PIECE;
		if (!mt_elf_image_get(image, table + offset + len, ret_text + len, piece))
			return -EINVAL;
		end = memchr(ret_text + len, '\0', piece);
		if (end)
			return (int)(end - ret_text);
	}
	return cut ? -E2BIG : -EINVAL;
}

bool mt_elf_image_section_at(const struct mt_elf_image *image, size_t i, Elf64_Shdr *ret_shdr)
{
	return i < image->n_shdrs && mt_elf_image_get(image, image->ehdr.e_shoff +
						      i * sizeof(*ret_shdr), ret_shdr,
						      sizeof(*ret_shdr));
}

bool mt_elf_image_section(const struct mt_elf_image *image, const char *name, Elf64_Shdr *ret_shdr)
{
	size_t i, size = strlen(name) + 1;
	char found[SECTION_NAME_MAX];
	Elf64_Shdr names, shdr;

	if (size > sizeof(found) ||
	    !mt_elf_image_section_at(image, image->ehdr.e_shstrndx, &names) ||
	    names.sh_offset > image->size || names.sh_size > image->size - names.sh_offset)
		return false;
	for (i = 0; i < image->n_shdrs; i++) {
		if (!mt_elf_image_section_at(image, i, &shdr))
			return false;
		if (shdr.sh_name > names.sh_size || size > names.sh_size - shdr.sh_name ||
		    !mt_elf_image_get(image, names.sh_offset + shdr.sh_name, found, size) ||
		    memcmp(found, name, size) != 0)
			continue;
		*ret_shdr = shdr;
		return true;
	}
	return false;
}

const Elf64_Phdr *mt_elf_image_segment(const struct mt_elf_image *image, uint32_t type)
{
	size_t i;

	for (i = 0; i < image->n_phdrs; i++)
		if (image->phdrs[i].p_type == type)
			return &image->phdrs[i];
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

/* Its header, and where the tables are that it names. */
static int parse(struct mt_elf_image *image)
{
	Elf64_Ehdr *ehdr = &image->ehdr;
	uint64_t size;

	if (!mt_elf_image_get(image, 0, ehdr, sizeof(*ehdr)) ||
	    memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
	    ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		return -MT_E_NOT_ELF;
	size = ehdr->e_phnum * sizeof(Elf64_Phdr);
	if (ehdr->e_phentsize == sizeof(Elf64_Phdr) && ehdr->e_phoff <= image->size &&
	    size <= image->size - ehdr->e_phoff)
		image->n_phdrs = ehdr->e_phnum;
	size = ehdr->e_shnum * sizeof(Elf64_Shdr);
	if (ehdr->e_shentsize == sizeof(Elf64_Shdr) && ehdr->e_shoff &&
	    ehdr->e_shoff <= image->size && size <= image->size - ehdr->e_shoff)
		image->n_shdrs = ehdr->e_shnum;
	if (image->n_phdrs > MT_ELF_PHDRS_MAX) {
		mt_elf_image_fail(image, -EFBIG);
		image->n_phdrs = 0;
	}
	return 0;
}

int mt_elf_image_read(const void *bytes, size_t size, struct mt_elf_image *ret_image)
{
	struct mt_elf_image image = { .bytes = bytes, .size = size };
	int err = parse(&image);

	if (err)
		return err;
	if (image.ehdr.e_phoff % _Alignof(Elf64_Phdr))
		image.n_phdrs = 0;
	if (image.n_phdrs)
		image.phdrs = (const void *)(image.bytes + image.ehdr.e_phoff);
	*ret_image = image;
	return 0;
}

/* In the notes [at, end) of the file. */
static size_t find_build_id(const struct mt_elf_image *image, uint64_t at, uint64_t end,
			    uint64_t align, uint8_t *id)
{
	uint64_t pad = align == 8 ? 7 : 3, name, desc;
	char owner[4];
	Elf64_Nhdr note;

	for (; end - at >= sizeof(note); at += name + desc) {
		if (!mt_elf_image_get(image, at, &note, sizeof(note)))
			break;
		at += sizeof(note);
		name = (note.n_namesz + pad) & ~pad;
		desc = (note.n_descsz + pad) & ~pad;
		if (name > end - at || note.n_descsz > end - at - name)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
		    mt_elf_image_get(image, at, owner, sizeof(owner)) &&
		    !memcmp(owner, "GNU", 4) && note.n_descsz &&
		    note.n_descsz <= MT_BUILD_ID_MAX)
			return mt_elf_image_get(image, at + name, id, note.n_descsz) ?
			       note.n_descsz : 0;
		if (desc > end - at - name)
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
		uint64_t size = phdr->p_filesz;

		if (phdr->p_type != PT_NOTE)
			continue;
		left--;
		if (phdr->p_offset > image->size || size > image->size - phdr->p_offset)
			continue;
		if (size > NOTE_BYTES_MAX)
			size = NOTE_BYTES_MAX;
		n = find_build_id(image, phdr->p_offset, phdr->p_offset + size, phdr->p_align,
				  ret_id);
	}
	return n;
}

static int open_parsed(struct mt_elf_image *image)
{
	struct mt_elf_file *file = image->file;
	int err = parse(image);

	/* What it is, is not known. */
	if (err)
		return file->failed ? file->failed : err;
	if (image->n_phdrs && mt_elf_image_get(image, image->ehdr.e_phoff, file->phdrs,
					       image->n_phdrs * sizeof(*file->phdrs)))
		image->phdrs = file->phdrs;
	else
		image->n_phdrs = 0;
	return 0;
}

int mt_elf_image_open(int fd, struct mt_elf_image *ret_image)
{
	struct mt_elf_image image = {};
	struct stat st;
	size_t i;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return -MT_E_NOT_ELF;
	if ((uint64_t)st.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	image.size = (size_t)st.st_size;
	/* Not mapped: what is behind the end of a file that is cut would take us with it. */
	image.file = calloc(1, sizeof(*image.file));
	if (!image.file)
		return -ENOMEM;
	image.file->fd = fd;
	image.file->left = MT_ELF_IMAGE_READ_MAX;
	for (i = 0; i < PARTS; i++)
		image.file->parts[i].index = NO_PART;
	err = open_parsed(&image);
	if (err) {
		mt_elf_image_close(&image);
		return err;
	}
	*ret_image = image;
	return 0;
}

void mt_elf_image_close(struct mt_elf_image *image)
{
	free(image->file);
}
