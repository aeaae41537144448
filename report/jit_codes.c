#include "report/jit_codes.h"

#include "common/arena.h"
#include "common/error.h"

#include <errno.h>

#define DUMP_MAGIC 0x4a695444u
#define DUMP_VERSION 1u
#define DUMP_HEADER 40u
#define DUMP_ARCH_CLOCK 1u	/* flag: times are the processor's, not the kernel's */
#define RECORD_HEADER 16u
#define LOAD_FIXED 40u		/* between the record's header and the name */
#define MOVE_FIXED 48u
#define LINES_FIXED 16u
#define LINE_FIXED 16u		/* of each, before the file's name */

enum record_kind {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_LINES = 2,	/* of the code that is loaded next */
};

/* From this byte of the code on. */
struct line {
	uint64_t offset;
	const char *file;
	uint32_t line;
};

/* How many codes a look-up goes through: more than ever overlap, unless on purpose. */
#define STEPS_MAX 4096u

struct mt_jit_codes {
	struct mt_jit_code *codes;	/* by start, then order, once indexed */
	uint64_t *reach;		/* highest end of codes[0..i] */
	size_t n, cap;
	struct mt_arena *names;
	struct line *lines;
	size_t n_lines, cap_lines;
	uint64_t lines_of;	/* address of the code that the last ones, from here on, are for */
	size_t lines_from;
};

int mt_jit_codes_new(struct mt_jit_codes **ret_codes)
{
	struct mt_jit_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	if (mt_arena_new(&codes->names)) {
		free(codes);
		return -ENOMEM;
	}
	*ret_codes = codes;
	return 0;
}

void mt_jit_codes_free(struct mt_jit_codes *codes)
{
	if (!codes)
		return;
	mt_arena_free(codes->names);
	free(codes->codes);
	free(codes->lines);
	free(codes->reach);
	free(codes);
}

/* Code without extent or name, or beyond the address space, is of no use. */
static int add_code(struct mt_jit_codes *codes, uint64_t start, uint64_t size, uint64_t time,
		    const void *name, size_t len)
{
	struct mt_jit_code *code;
	void *bigger;

	if (!size || !len || size > UINT64_MAX - start)
		return 0;
	if (codes->n == MT_JIT_CODES_MAX)
		return -MT_E_LIMIT;
	if (codes->n == codes->cap) {
		codes->cap = codes->cap ? 2 * codes->cap : 256;
		bigger = reallocarray(codes->codes, codes->cap, sizeof(*code));
		if (!bigger)
			return -ENOMEM;
		codes->codes = bigger;
	}
	code = &codes->codes[codes->n];
	*code = (struct mt_jit_code){
		.start = start, .end = start + size, .time = time, .order = (uint32_t)codes->n,
		.name = mt_arena_string(codes->names, name, len),
	};
	if (!code->name)
		return -ENOMEM;
	codes->n++;
	return 0;
}

/* A number at *at, which is moved behind it. */
static bool take_hex(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	const uint8_t *p = *at;
	uint64_t value = 0;
	unsigned int n = 0, digit;

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	for (; p < end; p++, n++) {
		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'f')
			digit = (*p | 0x20) - 'a' + 10;
		else
			break;
		if (value >> 60)
			return false;
		value = value << 4 | digit;
	}
	*at = p;
	*ret_value = value;
	return n;
}

static bool take_space(const uint8_t **at, const uint8_t *end)
{
	if (*at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		++*at;
	return true;
}

/* START SIZE NAME */
static int take_line(struct mt_jit_codes *codes, const uint8_t *line, const uint8_t *end)
{
	uint64_t start, size;

	if (end > line && end[-1] == '\r')
		end--;
	if (!take_hex(&line, end, &start) || !take_space(&line, end) ||
	    !take_hex(&line, end, &size) || !take_space(&line, end) ||
	    memchr(line, 0, end - line))
		return 0;
	return add_code(codes, start, size, 0, line, end - line);
}

int mt_jit_codes_take_map(struct mt_jit_codes *codes, const uint8_t *text, size_t size)
{
	const uint8_t *end = text + size, *newline;
	int err = 0;

	/* A last line without a newline may have been cut off in its name. */
	for (; !err && text < end && (newline = memchr(text, '\n', end - text)); text = newline + 1)
		err = take_line(codes, text, newline);
	return err;
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

/* The code last put at start; those that move were among the last. */
static const struct mt_jit_code *find_start(const struct mt_jit_codes *codes, uint64_t start)
{
	size_t i, low = codes->n > STEPS_MAX ? codes->n - STEPS_MAX : 0;

	for (i = codes->n; i > low; i--)
		if (codes->codes[i - 1].start == start)
			return &codes->codes[i - 1];
	return NULL;
}

static int add_line(struct mt_jit_codes *codes, uint64_t offset, uint32_t number, const char *file)
{
	void *bigger;

	if (codes->n_lines == MT_JIT_LINES_MAX)
		return -MT_E_LIMIT;
	if (codes->n_lines == codes->cap_lines) {
		codes->cap_lines = codes->cap_lines ? 2 * codes->cap_lines : 256;
		bigger = reallocarray(codes->lines, codes->cap_lines, sizeof(*codes->lines));
		if (!bigger)
			return -ENOMEM;
		codes->lines = bigger;
	}
	codes->lines[codes->n_lines++] = (struct line){ offset, file, number };
	return 0;
}

/* ADDRESS LINE DISCRIMINATOR FILE, so many times; the file \xff is the one before. */
static int take_lines(struct mt_jit_codes *codes, const uint8_t *body, size_t size)
{
	uint64_t start = get64(body), left = get64(body + 8), addr;
	const uint8_t *nul, *end = body + size;
	const char *file = NULL;
	size_t len;
	int err = 0;

	codes->lines_of = start;
	codes->lines_from = codes->n_lines;
	for (body += LINES_FIXED; !err && left && (size_t)(end - body) > LINE_FIXED; left--) {
		addr = get64(body);
		nul = memchr(body + LINE_FIXED, 0, (size_t)(end - body) - LINE_FIXED);
		if (!nul)
			break;
		len = (size_t)(nul - body) - LINE_FIXED;
		if (len && (len > 1 || body[LINE_FIXED] != 0xff) &&
		    (!file || strlen(file) != len || memcmp(file, body + LINE_FIXED, len) != 0)) {
			file = mt_arena_string(codes->names, body + LINE_FIXED, len);
			if (!file)
				return -ENOMEM;
		}
		if (file && addr >= start)
			err = add_line(codes, addr - start, get32(body + 8), file);
		body = nul + 1;
	}
	return err;
}

static int by_offset(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The code that was just added has the lines that came before it, if they are of it. */
static void give_lines(struct mt_jit_codes *codes, uint64_t start)
{
	size_t n = codes->n_lines - codes->lines_from;
	struct mt_jit_code *code;

	if (n && codes->n && codes->lines_of == start &&
	    codes->codes[codes->n - 1].start == start) {
		code = &codes->codes[codes->n - 1];
		code->first_line = (uint32_t)codes->lines_from;
		code->n_lines = (uint32_t)n;
		qsort(codes->lines + codes->lines_from, n, sizeof(*codes->lines), by_offset);
	}
	codes->lines_from = codes->n_lines;
}

static int take_record(struct mt_jit_codes *codes, uint32_t kind, uint64_t time,
		       const uint8_t *body, size_t size)
{
	const struct mt_jit_code *old;
	const uint8_t *name, *nul;
	uint32_t first_line, n_lines;
	size_t n = codes->n;
	int err;

	if (kind == RECORD_LOAD && size > LOAD_FIXED) {
		name = body + LOAD_FIXED;
		nul = memchr(name, 0, size - LOAD_FIXED);
		if (nul) {
			err = add_code(codes, get64(body + 16), get64(body + 24), time, name,
				       nul - name);
			if (!err && codes->n > n)
				give_lines(codes, get64(body + 16));
			return err;
		}
	}
	if (kind == RECORD_LINES && size >= LINES_FIXED)
		return take_lines(codes, body, size);
	if (kind == RECORD_MOVE && size >= MOVE_FIXED) {
		old = find_start(codes, get64(body + 16));
		if (old) {
			first_line = old->first_line;
			n_lines = old->n_lines;
			err = add_code(codes, get64(body + 24), get64(body + 32), time,
				       old->name, strlen(old->name));
			if (!err && codes->n > n) {
				codes->codes[n].first_line = first_line;
				codes->codes[n].n_lines = n_lines;
			}
			return err;
		}
	}
	return 0;
}

int mt_jit_codes_take_dump(struct mt_jit_codes *codes, const uint8_t *bytes, size_t size)
{
	uint64_t time;
	size_t at, len;
	bool timed;
	int err = 0;

	if (size < DUMP_HEADER || get32(bytes) != DUMP_MAGIC || get32(bytes + 4) != DUMP_VERSION)
		return 0;
	timed = !(get64(bytes + 32) & DUMP_ARCH_CLOCK);
	at = get32(bytes + 8);
	while (!err && at <= size && size - at >= RECORD_HEADER) {
		len = get32(bytes + at + 4);
		if (len < RECORD_HEADER || len > size - at)
			break;
		time = timed ? get64(bytes + at + 8) : 0;
		err = take_record(codes, get32(bytes + at), time, bytes + at + RECORD_HEADER,
				  len - RECORD_HEADER);
		at += len;
	}
	return err;
}

static int by_start(const void *a, const void *b)
{
	const struct mt_jit_code *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

int mt_jit_codes_index(struct mt_jit_codes *codes)
{
	uint64_t reach = 0;
	size_t i;

	codes->reach = calloc(codes->n + 1, sizeof(*codes->reach));
	if (!codes->reach)
		return -ENOMEM;
	if (codes->n)
		qsort(codes->codes, codes->n, sizeof(*codes->codes), by_start);
	for (i = 0; i < codes->n; i++) {
		if (codes->codes[i].end > reach)
			reach = codes->codes[i].end;
		codes->reach[i] = reach;
	}
	return 0;
}

size_t mt_jit_codes_count(const struct mt_jit_codes *codes)
{
	return codes->n;
}

const struct mt_jit_code *mt_jit_codes_at(const struct mt_jit_codes *codes, uint32_t index)
{
	return &codes->codes[index];
}

/* Did x come after y? Times first, for dumps of several threads may be out of order. */
static bool later(const struct mt_jit_code *x, const struct mt_jit_code *y)
{
	return x->time != y->time ? x->time > y->time : x->order > y->order;
}

uint32_t mt_jit_codes_find(const struct mt_jit_codes *codes, uint64_t addr, uint64_t time)
{
	const struct mt_jit_code *code;
	size_t low = 0, high = codes->n, mid;
	uint32_t best = MT_JIT_NONE, steps;

	/* Those before high start at or before addr. */
	while (low < high) {
		mid = low + (high - low) / 2;
		if (codes->codes[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (steps = 0; high && steps < STEPS_MAX && codes->reach[high - 1] > addr; steps++) {
		code = &codes->codes[--high];
		if (code->end > addr && code->time <= time &&
		    (best == MT_JIT_NONE || later(code, &codes->codes[best])))
			best = (uint32_t)high;
	}
	return best;
}

bool mt_jit_codes_line(const struct mt_jit_codes *codes, uint32_t index, uint64_t addr,
		       const char **ret_file, uint32_t *ret_line)
{
	const struct mt_jit_code *code = &codes->codes[index];
	const struct line *lines = codes->lines + code->first_line;
	uint32_t low = 0, high = code->n_lines, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (lines[mid].offset <= addr - code->start)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || addr < code->start)
		return false;
	*ret_file = lines[low - 1].file;
	*ret_line = lines[low - 1].line;
	return true;
}
