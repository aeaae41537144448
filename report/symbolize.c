#include "report/symbolize.h"

#include "common/arena.h"
#include "common/error.h"
#include "report/cfi.h"
#include "report/demangle.h"
#include "report/dwarf_lines.h"
#include "report/intern.h"
#include "report/jit.h"
#include "report/session.h"
#include "report/symbols.h"

#include <errno.h>

/* What is loaded of a file, each at most once. */
struct file {
	struct mt_module *module;
	struct mt_symbols *symbols;
	struct mt_lines *lines;
	struct mt_cfi *cfi;
	bool symbols_tried;
	bool lines_tried;
	bool cfi_tried;
};

struct bias {
	bool tried;
	bool known;
	uint64_t bias;
};

/* Of the table of answers: locations of (file, pc). */
struct answer {
	uint64_t pc;		/* svma; file offset or avma where there is none */
	uint32_t file;
	bool exact;
	bool named;		/* pc is a svma */
	uint32_t n;		/* 0: free slot */
	struct mt_location *locations;
};

struct mt_symbolizer {
	struct mt_session *session;
	struct mt_module_options options;
	struct mt_jit *jit;
	struct file *files;
	uint32_t n_files;
	struct bias *biases;
	uint32_t n_biases;
	struct answer *answers;	/* open addressing, at most half full */
	size_t n_answers;
	size_t n_slots;		/* power of two */
	struct mt_arena *arena;
	struct mt_intern *names;
};

int mt_symbolizer_new(struct mt_session *session, const struct mt_module_options *options,
		      struct mt_symbolizer **ret_symbolizer)
{
	struct mt_symbolizer *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	s->session = session;
	if (options)
		s->options = *options;
	s->n_files = mt_session_files(session);
	s->n_biases = mt_session_placements(session);
	s->n_slots = 1024;
	s->files = calloc((size_t)s->n_files + 1, sizeof(*s->files));
	s->biases = calloc((size_t)s->n_biases + 1, sizeof(*s->biases));
	s->answers = calloc(s->n_slots, sizeof(*s->answers));
	if (!s->files || !s->biases || !s->answers)
		goto out_free;
	err = mt_arena_new(&s->arena);
	if (!err)
		err = mt_intern_new(&s->names);
	if (!err)
		err = mt_jit_new(session, &s->options, &s->jit);
	if (err)
		goto out_free;
	*ret_symbolizer = s;
	return 0;

out_free:
	mt_symbolizer_free(s);
	return err;
}

void mt_symbolizer_free(struct mt_symbolizer *s)
{
	uint32_t i;

	if (!s)
		return;
	for (i = 0; s->files && i < s->n_files; i++) {
		mt_cfi_free(s->files[i].cfi);
		mt_lines_free(s->files[i].lines);
		mt_symbols_free(s->files[i].symbols);
		mt_module_free(s->files[i].module);
	}
	mt_jit_free(s->jit);
	free(s->files);
	free(s->biases);
	free(s->answers);
	mt_arena_free(s->arena);
	mt_intern_free(s->names);
	free(s);
}

struct mt_jit *mt_symbolizer_jit(struct mt_symbolizer *s)
{
	return s->jit;
}

struct mt_module *mt_symbolizer_module(struct mt_symbolizer *s, uint32_t index)
{
	struct file *file = &s->files[index];

	if (!file->module &&
	    mt_module_open(mt_session_file(s->session, index), &s->options, &file->module))
		return NULL;
	return file->module;
}

/* The module if it may be used. */
static struct mt_module *verified_module(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_module *module = mt_symbolizer_module(s, index);

	return module && mt_module_status(module) == MT_MODULE_VERIFIED ? module : NULL;
}

const struct mt_symbols *mt_symbolizer_symbols(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_module *module = verified_module(s, index);
	struct file *file = &s->files[index];

	if (module && !file->symbols_tried) {
		file->symbols_tried = true;
		if (!mt_symbols_load(module, &file->symbols) && !mt_symbols_count(file->symbols)) {
			mt_symbols_free(file->symbols);
			file->symbols = NULL;
		}
	}
	return file->symbols;
}

struct mt_lines *mt_symbolizer_lines(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_module *module = verified_module(s, index);
	struct file *file = &s->files[index];

	if (module && !file->lines_tried) {
		file->lines_tried = true;
		if (mt_lines_load(module, &file->lines))
			file->lines = NULL;
	}
	return file->lines;
}

bool mt_symbolizer_has_lines(struct mt_symbolizer *s, uint32_t index)
{
	return mt_symbolizer_lines(s, index) != NULL;
}

static const struct mt_cfi *find_cfi(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_module *module = verified_module(s, index);
	struct file *file = &s->files[index];

	if (module && !file->cfi_tried) {
		file->cfi_tried = true;
		if (mt_cfi_compile(module, &file->cfi))
			file->cfi = NULL;
	}
	return file->cfi;
}

bool mt_symbolizer_bias(struct mt_symbolizer *s, uint32_t index, uint64_t *ret_bias)
{
	struct bias *bias = &s->biases[index];
	const struct mt_placement *placement;
	struct mt_module *module;

	if (!bias->tried) {
		bias->tried = true;
		placement = mt_session_placement(s->session, index);
		module = verified_module(s, placement->file);
		bias->known = module &&
			      !mt_module_load_bias(module, placement->start,
						   placement->end - placement->start,
						   placement->offset, &bias->bias);
	}
	*ret_bias = bias->bias;
	return bias->known;
}

bool mt_symbolizer_find_code(void *arg, const struct mt_stack *stack, uint64_t addr,
			     struct mt_unwind_code *ret_code)
{
	struct mt_symbolizer *s = arg;
	uint32_t index = mt_session_find(s->session, stack->process, stack->time, addr);
	const struct mt_placement *placement;
	uint64_t bias;
	bool lasting;

	if (index == MT_NONE)
		return false;
	ret_code->placement = index;
	ret_code->jit = 0;
	ret_code->cfi = NULL;
	ret_code->bias = 0;
	/* A child's view of its parent's placements may end earlier than they do. */
	placement = mt_session_placement(s->session, index);
	if (placement->process == stack->process) {
		ret_code->from = placement->from;
		ret_code->until = placement->until;
	}
	if (mt_symbolizer_bias(s, index, &bias)) {
		ret_code->bias = bias;
		ret_code->cfi = find_cfi(s, placement->file);
		return true;
	}
	ret_code->jit = mt_jit_find(s->jit, stack->process, addr, stack->time, &lasting);
	if (!lasting)
		ret_code->until = ret_code->from;
	return true;
}

/* Slot of the answer, or the free one where it belongs. */
static struct answer *find_slot(struct answer *answers, size_t n_slots, const struct answer *key)
{
	uint64_t hash = (key->pc ^ ((uint64_t)key->file << 40)) * 4 + key->exact + key->named * 2;
	size_t i;

	hash *= 0x9e3779b97f4a7c15ull;
	for (i = hash >> 32;; i++) {
		struct answer *slot = &answers[i & (n_slots - 1)];

		if (!slot->n || (slot->pc == key->pc && slot->file == key->file &&
				 slot->exact == key->exact && slot->named == key->named))
			return slot;
	}
}

static int make_room(struct mt_symbolizer *s)
{
	struct answer *bigger;
	size_t i;

	if (s->n_answers < s->n_slots / 2)
		return 0;
	bigger = calloc(s->n_slots * 2, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	for (i = 0; i < s->n_slots; i++) {
		if (s->answers[i].n)
			*find_slot(bigger, s->n_slots * 2, &s->answers[i]) = s->answers[i];
	}
	free(s->answers);
	s->answers = bigger;
	s->n_slots *= 2;
	return 0;
}

/* The demangled name, kept; name itself if it is not mangled. NULL: out of memory. */
static const char *readable(struct mt_symbolizer *s, const char *name)
{
	char *text = mt_demangle(name);
	const char *kept;

	if (!text)
		return name;
	kept = mt_intern_text(s->names, text);
	free(text);
	return kept;
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
static int name_by_symbol(struct mt_symbolizer *s, struct mt_location *location,
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
		name = mt_arena_string(s->arena, name, dot - name);
		if (!name)
			return -ENOMEM;
	}
	location->linkage = name;
	location->function = readable(s, name);
	return location->function ? 0 : -ENOMEM;
}

static int fill_location(struct mt_symbolizer *s, struct mt_location *location,
			 const struct mt_line_frame *frame, const struct mt_symbol *symbol,
			 bool inlined)
{
	location->file = frame->file;
	location->line = frame->line;
	location->inlined = inlined;
	if (frame->linkage) {
		location->linkage = frame->linkage;
		location->function = readable(s, frame->linkage);
		return location->function ? 0 : -ENOMEM;
	}
	if (inlined) {
		location->function = frame->name;
		location->linkage = frame->name;
		return 0;
	}
	return name_by_symbol(s, location, symbol, frame->name, frame->entry);
}

/* Fill answer's locations for an address in a module: lookup is the svma to look at. */
static int name_address(struct mt_symbolizer *s, struct answer *answer, uint64_t lookup)
{
	struct mt_line_frame frames[MT_LINE_FRAMES_MAX];
	const struct mt_symbols *symbols = mt_symbolizer_symbols(s, answer->file);
	struct mt_lines *lines = mt_symbolizer_lines(s, answer->file);
	const struct mt_symbol *symbol = symbols ? mt_symbols_find(symbols, lookup) : NULL;
	size_t n = lines ? mt_lines_find(lines, lookup, frames) : 0, i;
	int err;

	if (!n) {
		memset(frames, 0, sizeof(*frames));
		n = 1;
	}
	answer->locations = mt_arena_zalloc(s->arena, n, sizeof(*answer->locations));
	if (!answer->locations)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		err = fill_location(s, &answer->locations[i], &frames[i], symbol, i + 1 < n);
		if (err)
			return err;
	}
	answer->n = n;
	return 0;
}

static int make_answer(struct mt_symbolizer *s, struct answer *answer)
{
	const struct mt_file *file = NULL;
	uint32_t i;
	int err;

	if (answer->file != MT_NONE)
		file = mt_session_file(s->session, answer->file);
	if (answer->named) {
		err = name_address(s, answer, answer->pc - !answer->exact);
		if (err)
			return err;
	} else {
		answer->locations = mt_arena_zalloc(s->arena, 1, sizeof(*answer->locations));
		if (!answer->locations)
			return -ENOMEM;
		answer->n = 1;
	}
	for (i = 0; i < answer->n; i++) {
		answer->locations[i].module = file ? file->path : NULL;
		answer->locations[i].offset = answer->pc;
	}
	return 0;
}

/* Asked for once for each call; what the file says is for people already, and kept by it. */
static int name_jit(struct mt_symbolizer *s, const struct mt_frame *frame,
		    const struct mt_location **ret_locations, size_t *ret_n)
{
	struct mt_location *location = mt_arena_zalloc(s->arena, 1, sizeof(*location));

	if (!location)
		return -ENOMEM;
	location->function = readable(s, mt_jit_name(s->jit, frame->jit));
	if (!location->function)
		return -ENOMEM;
	location->linkage = location->function;
	location->module = MT_JIT_MODULE;
	location->offset = frame->pc;
	*ret_locations = location;
	*ret_n = 1;
	return 0;
}

int mt_symbolize(struct mt_symbolizer *s, const struct mt_frame *frame,
		 const struct mt_location **ret_locations, size_t *ret_n)
{
	struct answer key = { .pc = frame->pc, .file = MT_NONE, .exact = frame->exact }, *slot;
	const struct mt_placement *placement;
	uint64_t bias;
	int err;

	if (frame->jit)
		return name_jit(s, frame, ret_locations, ret_n);
	if (frame->placement != MT_NONE) {
		placement = mt_session_placement(s->session, frame->placement);
		key.file = placement->file;
		key.named = mt_symbolizer_bias(s, frame->placement, &bias);
		key.pc = key.named ? frame->pc - bias :
				     frame->pc - placement->start + placement->offset;
	}
	slot = find_slot(s->answers, s->n_slots, &key);
	if (!slot->n) {
		err = make_room(s);
		if (!err)
			err = make_answer(s, &key);
		if (err)
			return err;
		slot = find_slot(s->answers, s->n_slots, &key);
		*slot = key;
		s->n_answers++;
	}
	*ret_locations = slot->locations;
	*ret_n = slot->n;
	return 0;
}
