#include "report/address_names.h"

#include "common/arena.h"
#include "report/cache.h"
#include "report/demangle.h"
#include "report/dwarf_lines.h"
#include "report/intern.h"
#include "report/known_names.h"
#include "report/module_sources.h"
#include "report/symbols.h"

#include <errno.h>

/* Of the table of answers: locations of a pc. */
struct answer {
	uint64_t pc;		/* svma; file offset or avma where there is none */
	bool exact;
	bool named;		/* pc is a svma */
	bool known;		/* the cache had it */
	uint32_t n;		/* 0: free slot */
	struct mt_location *locations;
};

struct mt_address_names {
	struct mt_module *module;
	const char *path;
	struct mt_cache *cache;	/* NULL: not for this module */
	struct mt_known_names known;
	bool known_tried;
	bool has_known;
	bool news;		/* there is something that the cache does not know */
	struct mt_symbols *symbols;
	struct mt_lines *lines;
	bool symbols_tried;
	bool lines_tried;
	struct answer *answers;	/* open addressing, at most half full */
	size_t n_answers;
	size_t n_slots;		/* power of two */
	struct mt_arena *arena;
	struct mt_intern *texts;
};

int mt_address_names_new(struct mt_module *module, const char *path, struct mt_cache *cache,
			 struct mt_address_names **ret_names)
{
	struct mt_address_names *names = calloc(1, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	names->module = module;
	names->path = path;
	names->cache = module ? cache : NULL;
	names->n_slots = 64;
	names->answers = calloc(names->n_slots, sizeof(*names->answers));
	err = names->answers ? mt_arena_new(&names->arena) : -ENOMEM;
	if (!err)
		err = mt_intern_new(&names->texts);
	if (err) {
		mt_address_names_free(names);
		return err;
	}
	*ret_names = names;
	return 0;
}

void mt_address_names_free(struct mt_address_names *names)
{
	if (!names)
		return;
	mt_lines_free(names->lines);
	mt_symbols_free(names->symbols);
	mt_known_names_release(&names->known);
	mt_arena_free(names->arena);
	mt_intern_free(names->texts);
	free(names->answers);
	free(names);
}

const struct mt_symbols *mt_address_names_symbols(struct mt_address_names *names)
{
	if (names->module && !names->symbols_tried) {
		names->symbols_tried = true;
		if (!mt_symbols_load(names->module, &names->symbols) &&
		    !mt_symbols_count(names->symbols)) {
			mt_symbols_free(names->symbols);
			names->symbols = NULL;
		}
	}
	return names->symbols;
}

struct mt_lines *mt_address_names_lines(struct mt_address_names *names)
{
	if (names->module && !names->lines_tried) {
		names->lines_tried = true;
		if (mt_lines_load(names->module, &names->lines))
			names->lines = NULL;
	}
	return names->lines;
}

/* What the cache knows of the module, read once. */
static bool has_known(struct mt_address_names *names)
{
	struct mt_buf buf;

	if (names->known_tried)
		return names->has_known;
	names->known_tried = true;
	if (names->cache && mt_module_has_more_sources(names->module))
		names->cache = NULL;
	mt_buf_init(&buf);
	if (mt_cache_get(names->cache, MT_CACHE_NAMES, names->module, &buf)) {
		names->has_known = !mt_known_names_read(buf.data, buf.len, &names->known);
		mt_cache_judge(names->cache, names->has_known);
	}
	mt_buf_release(&buf);
	return names->has_known;
}

bool mt_address_names_has_symbols(struct mt_address_names *names)
{
	if (has_known(names))
		return names->known.symbols;
	names->news = true;
	return mt_address_names_symbols(names) != NULL;
}

bool mt_address_names_has_lines(struct mt_address_names *names)
{
	if (has_known(names))
		return names->known.lines;
	names->news = true;
	return mt_address_names_lines(names) != NULL;
}

/* Slot of the answer, or the free one where it belongs. */
static struct answer *find_slot(struct answer *answers, size_t n_slots, const struct answer *key)
{
	uint64_t hash = key->pc * 4 + key->exact + key->named * 2;
	size_t i;

	hash *= 0x9e3779b97f4a7c15ull;
	for (i = hash >> 32;; i++) {
		struct answer *slot = &answers[i & (n_slots - 1)];

		if (!slot->n || (slot->pc == key->pc && slot->exact == key->exact &&
				 slot->named == key->named))
			return slot;
	}
}

static int make_room(struct mt_address_names *names)
{
	struct answer *bigger;
	size_t i;

	if (names->n_answers < names->n_slots / 2)
		return 0;
	bigger = calloc(names->n_slots * 2, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	for (i = 0; i < names->n_slots; i++) {
		if (names->answers[i].n)
			*find_slot(bigger, names->n_slots * 2, &names->answers[i]) =
				names->answers[i];
	}
	free(names->answers);
	names->answers = bigger;
	names->n_slots *= 2;
	return 0;
}

const char *mt_address_names_readable(struct mt_address_names *names, const char *name)
{
	char *text = mt_demangle(name);
	const char *kept;

	if (!text)
		return name;
	kept = mt_intern_text(names->texts, text);
	free(text);
	return kept;
}

struct mt_location *mt_address_names_blank(struct mt_address_names *names)
{
	return mt_arena_zalloc(names->arena, 1, sizeof(struct mt_location));
}

/* Is the symbol's name a better one than DWARF's plain name of the same function? */
static bool symbol_is_better(const struct mt_symbol *symbol, const char *plain, uint64_t entry)
{
	if (!plain)
		return true;
	if (symbol->addr != entry)
		return false;
	/* It has the scopes and parameters. */
	if (!strncmp(symbol->name, "_Z", 2))
		return true;
	/* malloc, which DWARF calls __libc_malloc. */
	return symbol->global && strspn(symbol->name, "_") < strspn(plain, "_");
}

/*
 * The name of a function that DWARF gives no linkage name: C, or static in C++. What a
 * compiler appends to the name of a clone is no part of it.
 */
static int name_by_symbol(struct mt_address_names *names, struct mt_location *location,
			  const struct mt_symbol *symbol, const char *plain, uint64_t entry)
{
	const char *dot, *name;

	location->function = plain;
	location->linkage = plain;
	if (!symbol || !symbol_is_better(symbol, plain, entry))
		return 0;
	name = symbol->name;
	dot = plain ? strchr(name, '.') : NULL;
	if (dot) {
		name = mt_arena_string(names->arena, name, dot - name);
		if (!name)
			return -ENOMEM;
	}
	location->linkage = name;
	location->function = mt_address_names_readable(names, name);
	return location->function ? 0 : -ENOMEM;
}

static int fill_location(struct mt_address_names *names, struct mt_location *location,
			 const struct mt_line_frame *frame, const struct mt_symbol *symbol,
			 bool inlined)
{
	location->file = frame->file;
	location->line = frame->line;
	location->inlined = inlined;
	if (frame->linkage) {
		location->linkage = frame->linkage;
		location->function = mt_address_names_readable(names, frame->linkage);
		return location->function ? 0 : -ENOMEM;
	}
	if (inlined) {
		location->function = frame->name;
		location->linkage = frame->name;
		return 0;
	}
	return name_by_symbol(names, location, symbol, frame->name, frame->entry);
}

/* Fill answer's locations for an address in a module: lookup is the svma to look at. */
static int name_address(struct mt_address_names *names, struct answer *answer, uint64_t lookup)
{
	struct mt_line_frame frames[MT_LINE_FRAMES_MAX];
	const struct mt_symbols *symbols = mt_address_names_symbols(names);
	struct mt_lines *lines = mt_address_names_lines(names);
	const struct mt_symbol *symbol = symbols ? mt_symbols_find(symbols, lookup) : NULL;
	size_t n = lines ? mt_lines_find(lines, lookup, frames) : 0, i;
	int err;

	if (!n) {
		memset(frames, 0, sizeof(*frames));
		n = 1;
	}
	answer->locations = mt_arena_zalloc(names->arena, n, sizeof(*answer->locations));
	if (!answer->locations)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		err = fill_location(names, &answer->locations[i], &frames[i], symbol, i + 1 < n);
		if (err)
			return err;
	}
	answer->n = (uint32_t)n;
	names->news = true;
	return 0;
}

/* The same from the cache: false if it does not know. */
static bool recall(struct mt_address_names *names, struct answer *answer, uint64_t lookup)
{
	const struct mt_known_address *address;

	if (!has_known(names))
		return false;
	address = mt_known_names_find(&names->known, lookup);
	if (!address)
		return false;
	answer->locations = mt_arena_alloc(names->arena, address->n, sizeof(*answer->locations));
	if (!answer->locations)
		return false;
	memcpy(answer->locations, address->locations, address->n * sizeof(*answer->locations));
	answer->n = address->n;
	answer->known = true;
	return true;
}

static int make_answer(struct mt_address_names *names, struct answer *answer)
{
	uint64_t lookup = answer->pc - !answer->exact;
	uint32_t i;
	int err = 0;

	if (!answer->named) {
		answer->locations = mt_address_names_blank(names);
		answer->n = 1;
		err = answer->locations ? 0 : -ENOMEM;
	} else if (!recall(names, answer, lookup)) {
		err = name_address(names, answer, lookup);
	}
	for (i = 0; !err && i < answer->n; i++) {
		answer->locations[i].module = names->path;
		answer->locations[i].offset = answer->pc;
	}
	return err;
}

int mt_address_names_find(struct mt_address_names *names, uint64_t pc, bool exact, bool named,
			  const struct mt_location **ret_locations, size_t *ret_n)
{
	struct answer key = { .pc = pc, .exact = exact, .named = named };
	struct answer *slot = find_slot(names->answers, names->n_slots, &key);
	int err;

	if (!slot->n) {
		err = make_room(names);
		if (!err)
			err = make_answer(names, &key);
		if (err)
			return err;
		slot = find_slot(names->answers, names->n_slots, &key);
		*slot = key;
		names->n_answers++;
	}
	*ret_locations = slot->locations;
	*ret_n = slot->n;
	return 0;
}

static int by_svma(const void *va, const void *vb)
{
	const struct mt_known_address *a = va, *b = vb;

	return a->svma < b->svma ? -1 : a->svma > b->svma;
}

/* New answers, and what is known that is not among them. *ret_n ascending, each once. */
static struct mt_known_address *merge(const struct mt_address_names *names,
				      const struct mt_known_names *known, size_t *ret_n)
{
	struct mt_known_address *all = calloc(names->n_answers + known->n + 1, sizeof(*all));
	size_t i, n = 0, kept = 0;

	if (!all)
		return NULL;
	for (i = 0; i < names->n_slots; i++) {
		const struct answer *answer = &names->answers[i];

		if (answer->n && answer->named && !answer->known)
			all[n++] = (struct mt_known_address){
				answer->pc - !answer->exact, answer->locations, answer->n,
			};
	}
	if (known->n)
		memcpy(all + n, known->addresses, known->n * sizeof(*all));
	n += known->n;
	if (n)
		qsort(all, n, sizeof(*all), by_svma);
	for (i = 0; i < n; i++)
		if (!kept || all[kept - 1].svma != all[i].svma)
			all[kept++] = all[i];
	*ret_n = kept;
	return all;
}

void mt_address_names_save(struct mt_address_names *names)
{
	struct mt_known_names now = { 0 }, all = { 0 };
	struct mt_buf buf;
	int err = -ENOMEM;

	if (!names->news || !names->cache)
		return;
	mt_buf_init(&buf);
	/* Another may have added to it since. */
	if (mt_cache_peek(names->cache, MT_CACHE_NAMES, names->module, &buf) &&
	    mt_known_names_read(buf.data, buf.len, &now))
		memset(&now, 0, sizeof(now));
	all.symbols = mt_address_names_has_symbols(names);
	all.lines = mt_address_names_has_lines(names);
	all.addresses = merge(names, &now, &all.n);
	if (all.addresses)
		err = mt_known_names_write(&all, &buf);
	free(all.addresses);
	/* Too much of it: what is new is what is wanted. */
	if (err && now.n) {
		mt_known_names_release(&now);
		all.addresses = merge(names, &now, &all.n);
		err = all.addresses ? mt_known_names_write(&all, &buf) : -ENOMEM;
		free(all.addresses);
	}
	if (!err)
		mt_cache_put(names->cache, MT_CACHE_NAMES, names->module, buf.data, buf.len);
	mt_known_names_release(&now);
	mt_buf_release(&buf);
	names->news = false;
}
