#include "record/elf_names.h"

#include <errno.h>
#include <stdbool.h>

#include "common/error.h"
#include "common/grow.h"
#include "record/elf_image.h"

#define PIECE 65536u		/* of a table, read at once */
#define KEPT MT_ELF_NAME_MAX	/* of what is before it: a name may begin there */
#define TAIL_MAX 4u		/* bytes by which a name is looked up first */
#define CHAINS 1024u		/* of names whose tails have one hash */
#define NO_NAME UINT32_MAX
#define COMPARED 16u	/* bytes read cost as much as to look at a name */
#define BITS 65536u

/* One that is looked for. */
struct name {
	const char *text;
	uint32_t len;
	uint32_t next;		/* in the same chain, not a longer one */
};

struct place {
	uint32_t offset;	/* in the table */
	uint32_t name;
};

struct mt_elf_names {
	struct name *names;
	uint32_t chains[CHAINS];
	uint32_t tail;		/* bytes of each name's end that are hashed */
	uint64_t left;		/* bytes that may be read, or names looked at instead */
	uint64_t at;		/* the table that was read last */
	uint64_t size;
	struct place *places;	/* sorted by offset */
	uint32_t n_places, cap_places;
	uint8_t maybe[BITS / 8];	/* no offset is a place whose bit is not set */
	char bytes[KEPT + PIECE];
};

static uint32_t hash_tail(const char *tail, uint32_t n)
{
	uint32_t value = 0;

	if (n == TAIL_MAX)	/* a load instead of a call */
		memcpy(&value, tail, TAIL_MAX);
	else
		memcpy(&value, tail, n);
	return (value * 0x9e3779b1u) >> 22;
}
_Static_assert(CHAINS == 1u << 10, "a hash has as many bits");

static uint32_t bit_of(uint32_t offset)
{
	return (offset * 0x9e3779b1u) >> 16;
}
_Static_assert(BITS == 1u << 16, "an offset's bit is one of them");

/* Longer ones first: where two end in the same place, they are found in the order of offsets. */
static void add_name(struct mt_elf_names *names, uint32_t i)
{
	struct name *name = &names->names[i];
	const char *tail = name->text + name->len - names->tail;
	uint32_t *at = &names->chains[hash_tail(tail, names->tail)];

	while (*at != NO_NAME && names->names[*at].len > name->len)
		at = &names->names[*at].next;
	name->next = *at;
	*at = i;
}

int mt_elf_names_new(const char *const *list, size_t n, struct mt_elf_names **ret_names)
{
	struct mt_elf_names *names = calloc(1, sizeof(*names));
	size_t i, len;

	if (!names)
		return -ENOMEM;
	names->names = calloc(n + 1, sizeof(*names->names));
	if (!names->names) {
		free(names);
		return -ENOMEM;
	}
	names->left = MT_ELF_NAME_BYTES_MAX;
	names->tail = TAIL_MAX;
	memset(names->chains, 0xff, sizeof(names->chains));
	for (i = 0; i < n; i++) {
		len = strlen(list[i]);
		names->names[i] = (struct name){ .text = list[i], .len = (uint32_t)len };
		if (len && len < names->tail)
			names->tail = (uint32_t)len;
	}
	for (i = 0; i < n; i++)
		if (names->names[i].len && names->names[i].len < MT_ELF_NAME_MAX)
			add_name(names, (uint32_t)i);
	*ret_names = names;
	return 0;
}

void mt_elf_names_free(struct mt_elf_names *names)
{
	if (!names)
		return;
	free(names->places);
	free(names->names);
	free(names);
}

/* false: no more are looked for. */
static bool add_place(struct mt_elf_names *names, const struct mt_elf_image *image,
		      uint64_t offset, uint32_t name)
{
	int err;

	if (offset > UINT32_MAX)
		return false;
	err = mt_grow(&names->places, names->n_places, &names->cap_places, sizeof(*names->places),
		      MT_ELF_PLACES_MAX);
	if (err) {
		mt_elf_image_fail(image, err == -MT_E_LIMIT ? -EFBIG : err);
		return false;
	}
	names->places[names->n_places++] = (struct place){ (uint32_t)offset, name };
	names->maybe[bit_of((uint32_t)offset) / 8] |=
		(uint8_t)(1u << bit_of((uint32_t)offset) % 8);
	return true;
}

/*
 * The names that end where a NUL is, n bytes into the table. What is before it is a string or the
 * end of one: tables have one place for "free" and "xfree".
 */
static bool add_places(struct mt_elf_names *names, const struct mt_elf_image *image,
		       const char *nul, size_t before, uint64_t n)
{
	const struct name *name;
	uint32_t i;

	if (before < names->tail)
		return true;
	for (i = names->chains[hash_tail(nul - names->tail, names->tail)]; i != NO_NAME;
	     i = name->next) {
		name = &names->names[i];
		/* A file can have many strings that end as most of the names do. */
		if (names->left < COMPARED) {
			mt_elf_image_fail(image, -EFBIG);
			return false;
		}
		names->left -= COMPARED;
		if (name->len <= before && !memcmp(nul - name->len, name->text, name->len) &&
		    !add_place(names, image, n - name->len, i))
			return false;
	}
	return true;
}

/* In the n bytes behind those that are kept, which begin at an offset of the table. */
static bool look_through(struct mt_elf_names *names, const struct mt_elf_image *image,
			 uint64_t offset, size_t n)
{
	const char *at = names->bytes + KEPT, *end = at + n, *nul;
	uint64_t word;
	/* A string that begins before what is kept is longer than any name. */
	const char *first = at - (offset < KEPT ? offset : KEPT);

	for (; at < end; at = nul + 1) {
		nul = memchr(at, '\0', (size_t)(end - at));
		if (!nul)
			break;
		if (nul > first && nul[-1] &&
		    !add_places(names, image, nul, (size_t)(nul - first),
				offset + (size_t)(nul - names->bytes) - KEPT))
			return false;
		/* Nothing for long: a hole of the file. */
		while ((size_t)(end - nul) > sizeof(word)) {
			memcpy(&word, nul + 1, sizeof(word));
			if (word)
				break;
			nul += sizeof(word);
		}
	}
	return true;
}

void mt_elf_names_read(struct mt_elf_names *names, const struct mt_elf_image *image, uint64_t at,
		       uint64_t size)
{
	uint64_t offset = 0;
	size_t want, got;

	if (names->size && at == names->at && size == names->size)
		return;
	names->at = at;
	names->size = size;
	names->n_places = 0;
	memset(names->maybe, 0, sizeof(names->maybe));
	if (size > names->left) {
		mt_elf_image_fail(image, -EFBIG);
		return;
	}
	names->left -= size;
	for (; offset < size; offset += got) {
		want = size - offset < PIECE ? size - offset : PIECE;
		got = mt_elf_image_copy(image, at + offset, names->bytes + KEPT, want);
		if (!look_through(names, image, offset, got) || got < want)
			break;
		memcpy(names->bytes, names->bytes + PIECE, KEPT);
	}
}

int mt_elf_names_at(const struct mt_elf_names *names, uint32_t offset)
{
	uint32_t low = 0, high = names->n_places, middle;

	if (!(names->maybe[bit_of(offset) / 8] >> bit_of(offset) % 8 & 1))
		return -1;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (names->places[middle].offset == offset)
			return (int)names->places[middle].name;
		if (names->places[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}
