#include "report/known_names.h"

#include "common/error.h"
#include "report/dwarf_lines.h"
#include "report/intern.h"

#include <errno.h>

enum flags { HAS_SYMBOLS = 1, HAS_LINES = 2, FLAGS_ALL = 3 };

/* Then the addresses, their locations in the same order, and the strings. */
struct head {
	uint32_t flags, n_addresses, n_locations, n_strings;
};

struct address {
	uint64_t svma;
	uint32_t n, zero;
};

/* Strings by where they stand, plus 1; 0 is NULL. */
struct location {
	uint32_t function, linkage, file, line;
};

void mt_known_names_release(struct mt_known_names *names)
{
	free(names->addresses);
	free(names->locations);
	free(names->strings);
	memset(names, 0, sizeof(*names));
}

/* Any place in the strings is a string: the last byte ends one. */
static bool text_at(const struct mt_known_names *names, const struct head *head, uint32_t at,
		    const char **ret_text)
{
	if (at > head->n_strings)
		return false;
	*ret_text = at ? names->strings + at - 1 : NULL;
	return true;
}

static int fill(struct mt_known_names *names, const struct head *head, const uint8_t *addresses,
		const uint8_t *locations)
{
	struct mt_location *to = names->locations;
	struct location from;
	struct address address;
	uint32_t i, k, left = head->n_locations;

	for (i = 0; i < head->n_addresses; i++) {
		memcpy(&address, addresses + i * sizeof(address), sizeof(address));
		if (!address.n || address.n > MT_LINE_FRAMES_MAX || address.n > left ||
		    address.zero || (i && address.svma <= names->addresses[i - 1].svma))
			return -MT_E_CORRUPT;
		names->addresses[i] = (struct mt_known_address){ address.svma, to, address.n };
		for (k = 0; k < address.n; k++, to++, locations += sizeof(from)) {
			memcpy(&from, locations, sizeof(from));
			if (!text_at(names, head, from.function, &to->function) ||
			    !text_at(names, head, from.linkage, &to->linkage) ||
			    !text_at(names, head, from.file, &to->file))
				return -MT_E_CORRUPT;
			to->line = from.line;
			to->inlined = k + 1 < address.n;
		}
		left -= address.n;
	}
	return left ? -MT_E_CORRUPT : 0;
}

int mt_known_names_read(const void *bytes, size_t len, struct mt_known_names *ret_names)
{
	struct mt_known_names names = { 0 };
	const uint8_t *at = bytes;
	size_t a, l;
	struct head head;
	int err;

	if (len < sizeof(head))
		return -MT_E_CORRUPT;
	memcpy(&head, at, sizeof(head));
	if (head.n_addresses > MT_KNOWN_ADDRESSES_MAX || len > MT_KNOWN_BYTES_MAX)
		return -MT_E_LIMIT;
	a = head.n_addresses * sizeof(struct address);
	l = head.n_locations * sizeof(struct location);
	len -= sizeof(head);
	if (head.flags & ~(uint32_t)FLAGS_ALL || a > len || l > len - a ||
	    head.n_strings != len - a - l)
		return -MT_E_CORRUPT;
	at += sizeof(head);
	if (head.n_strings && at[a + l + head.n_strings - 1])
		return -MT_E_CORRUPT;

	names.addresses = calloc((size_t)head.n_addresses + 1, sizeof(*names.addresses));
	names.locations = calloc((size_t)head.n_locations + 1, sizeof(*names.locations));
	names.strings = malloc((size_t)head.n_strings + 1);
	err = -ENOMEM;
	if (!names.addresses || !names.locations || !names.strings)
		goto out_release;
	memcpy(names.strings, at + a + l, head.n_strings);
	names.n = head.n_addresses;
	names.symbols = head.flags & HAS_SYMBOLS;
	names.lines = head.flags & HAS_LINES;
	err = fill(&names, &head, at, at + a);
	if (err)
		goto out_release;
	*ret_names = names;
	return 0;

out_release:
	mt_known_names_release(&names);
	return err;
}

const struct mt_known_address *mt_known_names_find(const struct mt_known_names *names,
						   uint64_t svma)
{
	size_t low = 0, high = names->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (names->addresses[mid].svma < svma)
			low = mid + 1;
		else
			high = mid;
	}
	return low < names->n && names->addresses[low].svma == svma ? &names->addresses[low] : NULL;
}

/* The strings, each once, found by what they say. */
struct strings {
	struct mt_buf text;
	uint32_t *slots;	/* where + 1; 0: free */
	size_t cap, n;
};

static size_t find_slot(const struct strings *strings, const uint32_t *slots, size_t cap,
			const char *text)
{
	size_t i = mt_hash_bytes(MT_HASH_SEED, text, strlen(text)) & (cap - 1);

	while (slots[i] && strcmp((const char *)strings->text.data + slots[i] - 1, text))
		i = (i + 1) & (cap - 1);
	return i;
}

static int grow(struct strings *strings)
{
	size_t cap = strings->cap ? 2 * strings->cap : 1024, i;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < strings->cap; i++)
		if (strings->slots[i])
			slots[find_slot(strings, slots, cap, (const char *)strings->text.data +
					strings->slots[i] - 1)] = strings->slots[i];
	free(strings->slots);
	strings->slots = slots;
	strings->cap = cap;
	return 0;
}

static int put_string(struct strings *strings, const char *text, uint32_t *ret_at)
{
	size_t slot;
	int err = 0;

	*ret_at = 0;
	if (!text)
		return 0;
	if (strings->n >= strings->cap / 2)
		err = grow(strings);
	if (err)
		return err;
	slot = find_slot(strings, strings->slots, strings->cap, text);
	if (!strings->slots[slot]) {
		if (strings->text.len > MT_KNOWN_BYTES_MAX)
			return -MT_E_LIMIT;
		strings->slots[slot] = (uint32_t)strings->text.len + 1;
		strings->n++;
		err = mt_buf_append(&strings->text, text, strlen(text) + 1);
	}
	*ret_at = strings->slots[slot];
	return err;
}

static int put_locations(const struct mt_known_address *address, struct strings *strings,
			 struct mt_buf *buf)
{
	const struct mt_location *from;
	struct location to;
	uint32_t i;
	int err = 0;

	for (i = 0; i < address->n && !err; i++) {
		from = &address->locations[i];
		to.line = from->line;
		err = put_string(strings, from->function, &to.function);
		if (!err)
			err = put_string(strings, from->linkage, &to.linkage);
		if (!err)
			err = put_string(strings, from->file, &to.file);
		if (!err)
			err = mt_buf_append(buf, &to, sizeof(to));
	}
	return err;
}

int mt_known_names_write(const struct mt_known_names *names, struct mt_buf *buf)
{
	struct head head = {
		.flags = (names->symbols ? HAS_SYMBOLS : 0) | (names->lines ? HAS_LINES : 0),
		.n_addresses = (uint32_t)names->n,
	};
	struct strings strings = { 0 };
	struct address address;
	size_t i;
	int err = names->n > MT_KNOWN_ADDRESSES_MAX ? -MT_E_LIMIT : 0;

	mt_buf_reset(buf);
	if (!err)
		err = mt_buf_append(buf, &head, sizeof(head));
	for (i = 0; i < names->n && !err; i++) {
		address = (struct address){ names->addresses[i].svma, names->addresses[i].n, 0 };
		head.n_locations += address.n;
		err = mt_buf_append(buf, &address, sizeof(address));
	}
	for (i = 0; i < names->n && !err; i++)
		err = put_locations(&names->addresses[i], &strings, buf);
	head.n_strings = (uint32_t)strings.text.len;
	if (!err)
		err = mt_buf_append(buf, strings.text.data, strings.text.len);
	if (!err && buf->len > MT_KNOWN_BYTES_MAX)
		err = -MT_E_LIMIT;
	if (!err)
		memcpy(buf->data, &head, sizeof(head));
	mt_buf_release(&strings.text);
	free(strings.slots);
	return err;
}
