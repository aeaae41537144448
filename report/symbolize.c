#include "report/symbolize.h"

#include "common/error.h"
#include "report/address_names.h"
#include "report/cfi_cache.h"
#include "report/jit.h"
#include "report/session.h"

#include <errno.h>
#include <pthread.h>

enum cfi_state { CFI_UNTRIED, CFI_BUSY, CFI_DONE };

/* What is loaded of a file, each at most once. */
struct file {
	struct mt_module *module;
	struct mt_address_names *names;
	struct mt_cfi *cfi;
	enum cfi_state cfi_state;
};

struct bias {
	bool tried;
	bool known;
	uint64_t bias;
};

struct mt_symbolizer {
	struct mt_session *session;
	struct mt_module_options options;
	struct mt_jit *jit;
	struct file *files;	/* the last one stands for what is in no file */
	uint32_t n_files;
	struct bias *biases;
	uint32_t n_biases;
	pthread_mutex_t lock;	/* of all the above, while stacks are unwound */
	pthread_cond_t compiled;
};

int mt_symbolizer_new(struct mt_session *session, const struct mt_module_options *options,
		      struct mt_symbolizer **ret_symbolizer)
{
	struct mt_symbolizer *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->compiled, NULL);
	s->session = session;
	if (options)
		s->options = *options;
	s->n_files = mt_session_files(session);
	s->n_biases = mt_session_placements(session);
	s->files = calloc((size_t)s->n_files + 1, sizeof(*s->files));
	s->biases = calloc((size_t)s->n_biases + 1, sizeof(*s->biases));
	if (s->files && s->biases)
		err = mt_jit_new(session, &s->options, &s->jit);
	if (err) {
		mt_symbolizer_free(s);
		return err;
	}
	*ret_symbolizer = s;
	return 0;
}

void mt_symbolizer_free(struct mt_symbolizer *s)
{
	uint32_t i;

	if (!s)
		return;
	for (i = 0; s->files && i <= s->n_files; i++) {
		mt_cfi_free(s->files[i].cfi);
		mt_address_names_free(s->files[i].names);
		mt_module_free(s->files[i].module);
	}
	mt_jit_free(s->jit);
	free(s->files);
	free(s->biases);
	pthread_cond_destroy(&s->compiled);
	pthread_mutex_destroy(&s->lock);
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

/* index n_files: of what is in no file. NULL: out of memory. */
static struct mt_address_names *names_of(struct mt_symbolizer *s, uint32_t index)
{
	struct file *file = &s->files[index];
	bool is_file = index < s->n_files;

	if (!file->names &&
	    mt_address_names_new(is_file ? verified_module(s, index) : NULL,
				 is_file ? mt_session_file(s->session, index)->path : NULL,
				 s->options.cache, &file->names))
		return NULL;
	return file->names;
}

const struct mt_symbols *mt_symbolizer_symbols(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_address_names *names = names_of(s, index);

	return names ? mt_address_names_symbols(names) : NULL;
}

struct mt_lines *mt_symbolizer_lines(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_address_names *names = names_of(s, index);

	return names ? mt_address_names_lines(names) : NULL;
}

bool mt_symbolizer_has_symbols(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_address_names *names = names_of(s, index);

	return names && mt_address_names_has_symbols(names);
}

bool mt_symbolizer_has_lines(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_address_names *names = names_of(s, index);

	return names && mt_address_names_has_lines(names);
}

void mt_symbolizer_save(struct mt_symbolizer *s)
{
	uint32_t i;

	for (i = 0; i < s->n_files; i++)
		if (s->files[i].names)
			mt_address_names_save(s->files[i].names);
}

/* With s->lock held, which is given up while a table is compiled: other files' can be at once. */
static const struct mt_cfi *find_cfi(struct mt_symbolizer *s, uint32_t index)
{
	struct mt_module *module = verified_module(s, index);
	struct file *file = &s->files[index];
	struct mt_cfi *cfi = NULL;

	if (!module)
		return NULL;
	while (file->cfi_state == CFI_BUSY)
		pthread_cond_wait(&s->compiled, &s->lock);
	if (file->cfi_state == CFI_UNTRIED) {
		file->cfi_state = CFI_BUSY;
		pthread_mutex_unlock(&s->lock);
		if (mt_cfi_load(module, s->options.cache, &cfi))
			cfi = NULL;
		pthread_mutex_lock(&s->lock);
		file->cfi = cfi;
		file->cfi_state = CFI_DONE;
		pthread_cond_broadcast(&s->compiled);
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

static bool find_code(struct mt_symbolizer *s, const struct mt_stack *stack, uint64_t addr,
		      struct mt_unwind_code *ret_code)
{
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

bool mt_symbolizer_find_code(void *arg, const struct mt_stack *stack, uint64_t addr,
			     struct mt_unwind_code *ret_code)
{
	struct mt_symbolizer *s = arg;
	bool found;

	pthread_mutex_lock(&s->lock);
	found = find_code(s, stack, addr, ret_code);
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Asked for once for each call; what the file says is for people already, and kept by it. */
static int name_jit(struct mt_symbolizer *s, const struct mt_frame *frame, uint32_t file,
		    const struct mt_location **ret_locations, size_t *ret_n)
{
	struct mt_address_names *names = names_of(s, file);
	struct mt_location *location = names ? mt_address_names_blank(names) : NULL;

	if (!location)
		return -ENOMEM;
	location->function = mt_address_names_readable(names, mt_jit_name(s->jit, frame->jit));
	if (!location->function)
		return -ENOMEM;
	location->linkage = location->function;
	mt_jit_line(s->jit, frame->jit, frame->pc - !frame->exact, &location->file,
		    &location->line);
	location->module = MT_JIT_MODULE;
	location->offset = frame->pc;
	*ret_locations = location;
	*ret_n = 1;
	return 0;
}

int mt_symbolize(struct mt_symbolizer *s, const struct mt_frame *frame,
		 const struct mt_location **ret_locations, size_t *ret_n)
{
	const struct mt_placement *placement = NULL;
	struct mt_address_names *names;
	uint64_t bias, pc = frame->pc;
	uint32_t file = s->n_files;
	bool named = false;

	if (frame->placement != MT_NONE) {
		placement = mt_session_placement(s->session, frame->placement);
		file = placement->file;
	}
	if (frame->jit)
		return name_jit(s, frame, file, ret_locations, ret_n);
	if (placement) {
		named = mt_symbolizer_bias(s, frame->placement, &bias);
		pc = named ? pc - bias : pc - placement->start + placement->offset;
	}
	names = names_of(s, file);
	if (!names)
		return -ENOMEM;
	return mt_address_names_find(names, pc, frame->exact, named, ret_locations, ret_n);
}
