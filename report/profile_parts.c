#include "report/profile_parts.h"

#include "common/error.h"
#include "report/json.h"
#include "report/module.h"
#include "report/session.h"
#include "report/symbolize.h"
#include "report/symbols.h"

#include <errno.h>
#include <inttypes.h>

#define UNWIND_VARIANT 3	/* fourth version of the format */
#define KEY_NAME_MAX 200	/* a file name's 255 less the index and the suffix */

/* Readers take every text for UTF-8, and file names and lines end at control characters. */
static size_t clean_sequence(const char *text, size_t n, size_t *ret_skip)
{
	size_t len = mt_utf8_sequence(text, n, ret_skip);

	if (len == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f))
		return 0;
	return len;
}

static bool is_clean(const char *text)
{
	size_t n = strlen(text), len, skip;

	while (n) {
		len = clean_sequence(text, n, &skip);
		if (!len)
			return false;
		text += len;
		n -= len;
	}
	return true;
}

/* INDEX__BASENAME. NULL: out of memory. */
static char *make_key(size_t index, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name), len, skip, used = 0;
	char base[KEY_NAME_MAX + 1], *key;

	while (n && used < KEY_NAME_MAX) {
		len = clean_sequence(name, n, &skip);
		if (len > KEY_NAME_MAX - used)
			break;
		if (len)
			memcpy(base + used, name, len);
		else
			base[used] = '_';
		used += len ? len : 1;
		name += len ? len : skip;
		n -= len ? len : skip;
	}
	base[used] = 0;
	return asprintf(&key, "%zu__%s", index, base) < 0 ? NULL : key;
}

static int add_part(struct mt_profile_parts *parts, uint32_t file)
{
	struct mt_profile_part *part = &parts->parts[parts->n];
	struct mt_module *module = mt_symbolizer_module(parts->symbolizer, file);
	struct mt_section section;

	if (!module)
		return -ENOMEM;
	if (mt_module_status(module) != MT_MODULE_VERIFIED)
		return 0;
	mt_module_section(module, ".eh_frame", &section);
	part->file = file;
	part->unwind = section.data != NULL;
	part->symbols = mt_symbolizer_has_symbols(parts->symbolizer, file);
	/* Debug information is told by symbol. */
	part->debug = part->symbols && mt_symbolizer_has_lines(parts->symbolizer, file);
	if (!part->unwind && !part->symbols)
		return 0;
	part->key = make_key(parts->n, mt_module_path(module));
	if (!part->key)
		return -ENOMEM;
	parts->part_of_file[file] = parts->n++;
	return 0;
}

int mt_profile_parts_load(struct mt_profile_parts *parts, struct mt_session *session,
			  struct mt_symbolizer *symbolizer)
{
	uint32_t n_files = mt_session_files(session), n = mt_session_placements(session), i;
	bool *mapped = calloc((size_t)n_files + 1, sizeof(*mapped));
	int err = -ENOMEM;

	memset(parts, 0, sizeof(*parts));
	parts->session = session;
	parts->symbolizer = symbolizer;
	parts->parts = calloc((size_t)n_files + 1, sizeof(*parts->parts));
	parts->part_of_file = malloc(((size_t)n_files + 1) * sizeof(*parts->part_of_file));
	if (!mapped || !parts->parts || !parts->part_of_file)
		goto out;
	memset(parts->part_of_file, 0xff, n_files * sizeof(*parts->part_of_file));
	for (i = 0; i < n; i++)
		mapped[mt_session_placement(session, i)->file] = true;
	err = 0;
	for (i = 0; i < n_files && !err; i++) {
		if (mapped[i])
			err = add_part(parts, i);
	}
out:
	free(mapped);
	if (err)
		mt_profile_parts_release(parts);
	return err;
}

void mt_profile_parts_release(struct mt_profile_parts *parts)
{
	size_t i;

	for (i = 0; i < parts->n; i++) {
		free(parts->parts[i].key);
		free(parts->parts[i].functions);
	}
	free(parts->parts);
	free(parts->part_of_file);
	memset(parts, 0, sizeof(*parts));
}

bool mt_profile_has_symbol(const struct mt_symbol *symbol)
{
	return is_clean(symbol->name);
}

void mt_profile_put_symbols(const struct mt_profile_parts *parts,
			    const struct mt_profile_part *part, FILE *out)
{
	const struct mt_symbols *symbols = mt_symbolizer_symbols(parts->symbolizer, part->file);
	size_t n = mt_symbols_count(symbols), i;
	const struct mt_symbol *symbol;

	for (i = 0; i < n; i++) {
		symbol = mt_symbols_at(symbols, i);
		if (mt_profile_has_symbol(symbol))
			fprintf(out, "%" PRIx64 " %" PRIx64 " %s\n", symbol->addr, symbol->size,
				symbol->name);
	}
}

static void put_le(FILE *out, uint64_t value, unsigned int bytes)
{
	while (bytes--) {
		putc_unlocked(value & 0xff, out);
		value >>= 8;
	}
}

static void put_bytes(FILE *out, const void *bytes, size_t n)
{
	put_le(out, n, 8);
	fwrite_unlocked(bytes, 1, n, out);
}

static void put_range(FILE *out, const struct mt_section *section)
{
	put_le(out, section->svma, 8);
	put_le(out, section->svma + section->size, 8);
}

/* The path as valid UTF-8: each damaged sequence becomes U+FFFD. */
static void put_path(FILE *out, const char *path)
{
	size_t n = strlen(path), len, skip, pass, total = 0;
	const char *at;

	for (pass = 0; pass < 2; pass++) {
		if (pass)
			put_le(out, total, 8);
		for (at = path; at < path + n; at += len ? len : skip) {
			len = mt_utf8_sequence(at, n - (at - path), &skip);
			total += len ? len : 3;
			if (pass)
				fwrite_unlocked(len ? at : "\xef\xbf\xbd", 1, len ? len : 3, out);
		}
	}
}

void mt_profile_put_unwind(const struct mt_profile_parts *parts,
			   const struct mt_profile_part *part, FILE *out)
{
	struct mt_module *module = mt_symbolizer_module(parts->symbolizer, part->file);
	struct mt_section frame, header;

	mt_module_section(module, ".eh_frame", &frame);
	mt_module_section(module, ".eh_frame_hdr", &header);
	put_le(out, UNWIND_VARIANT, 4);
	put_path(out, mt_module_path(module));
	put_le(out, mt_module_base_svma(module), 8);
	put_le(out, header.data != NULL, 1);
	if (header.data)
		put_bytes(out, header.data, header.size);
	put_le(out, header.data != NULL, 1);
	if (header.data)
		put_range(out, &header);
	put_bytes(out, frame.data, frame.size);
	put_range(out, &frame);
}
