#include "report/jit.h"

#include "common/error.h"
#include "report/jit_codes.h"
#include "report/jit_file.h"
#include "report/module_file.h"
#include "report/pack.h"
#include "report/session.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANCESTORS_MAX 64

/* Contents of one file. */
struct source {
	bool tried;
	bool there;
	enum mt_module_status status;
	char reason[MT_REASON_MAX];
	uint8_t *bytes;
	size_t size;
	bool mapped;		/* of a pack, else allocated */
};

struct process {
	struct source map;
	char path[MT_JIT_PATH_MAX];
	bool loaded;
	bool timed;
	uint32_t base;		/* id of codes[0], less 1 */
	struct mt_jit_codes *codes;
};

/* That a process had a dump mapped. */
struct dump_use {
	uint32_t process;
	uint32_t file;
};

struct mt_jit {
	const struct mt_session *session;
	struct mt_module_options options;
	struct process *processes;
	struct source *dumps;	/* by file */
	struct dump_use *uses;	/* by process */
	size_t n_uses;
	uint32_t *loaded;	/* processes with codes, by base */
	uint32_t n_loaded;
	uint32_t n_codes;
	uint64_t bytes;
};

static int by_process(const void *a, const void *b)
{
	const struct dump_use *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static int find_uses(struct mt_jit *jit)
{
	uint32_t n = mt_session_placements(jit->session), i, pass;
	const struct mt_placement *placement;
	const struct mt_file *file;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0, jit->n_uses = 0; i < n; i++) {
			placement = mt_session_placement(jit->session, i);
			file = mt_session_file(jit->session, placement->file);
			if (!mt_jit_is_dump(file->path))
				continue;
			if (pass)
				jit->uses[jit->n_uses] = (struct dump_use){
					placement->process, placement->file,
				};
			jit->n_uses++;
		}
		if (!pass)
			jit->uses = calloc(jit->n_uses + 1, sizeof(*jit->uses));
		if (!jit->uses)
			return -ENOMEM;
	}
	qsort(jit->uses, jit->n_uses, sizeof(*jit->uses), by_process);
	return 0;
}

int mt_jit_new(const struct mt_session *session, const struct mt_module_options *options,
	       struct mt_jit **ret_jit)
{
	struct mt_jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return -ENOMEM;
	jit->session = session;
	jit->options = *options;
	jit->processes = calloc((size_t)mt_session_processes(session) + 1,
				sizeof(*jit->processes));
	jit->dumps = calloc((size_t)mt_session_files(session) + 1, sizeof(*jit->dumps));
	jit->loaded = calloc((size_t)mt_session_processes(session) + 1, sizeof(*jit->loaded));
	if (!jit->processes || !jit->dumps || !jit->loaded || find_uses(jit)) {
		mt_jit_free(jit);
		return -ENOMEM;
	}
	*ret_jit = jit;
	return 0;
}

static void release_bytes(struct source *source)
{
	if (source->mapped)
		munmap(source->bytes, source->size);
	else
		free(source->bytes);
	source->bytes = NULL;
	source->size = 0;
	source->mapped = false;
}

void mt_jit_free(struct mt_jit *jit)
{
	uint32_t i;

	if (!jit)
		return;
	for (i = 0; jit->processes && i < mt_session_processes(jit->session); i++) {
		release_bytes(&jit->processes[i].map);
		mt_jit_codes_free(jit->processes[i].codes);
	}
	for (i = 0; jit->dumps && i < mt_session_files(jit->session); i++)
		release_bytes(&jit->dumps[i]);
	free(jit->processes);
	free(jit->dumps);
	free(jit->uses);
	free(jit->loaded);
	free(jit);
}

static void refuse(struct source *source, enum mt_module_status status, const char *reason)
{
	source->status = status;
	snprintf(source->reason, sizeof(source->reason), "%s", reason);
}

/* All of fd, which is closed. A file that grows meanwhile is taken up to where it was. */
static void read_all(struct mt_jit *jit, struct source *source, int fd)
{
	size_t done = 0;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || st.st_size < 0 ||
	    (uint64_t)st.st_size > MT_JIT_BYTES_MAX - jit->bytes) {
		refuse(source, MT_MODULE_UNREADABLE, "too large");
		goto out;
	}
	source->bytes = malloc((size_t)st.st_size + 1);
	if (!source->bytes) {
		refuse(source, MT_MODULE_UNREADABLE, strerror(ENOMEM));
		goto out;
	}
	while (done < (size_t)st.st_size) {
		n = pread(fd, source->bytes + done, (size_t)st.st_size - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	source->size = done;
	jit->bytes += done;
out:
	close(fd);
}

static void take_packed(struct mt_jit *jit, struct source *source, const struct mt_file *key)
{
	const struct mt_packed *packed = mt_pack_find(jit->options.pack, key);

	if (!packed)
		return;
	source->there = true;
	if (!packed->own) {
		refuse(source, MT_MODULE_UNREADABLE, packed->reason);
		mt_module_status_find(packed->status, &source->status);
		return;
	}
	source->bytes = mt_pack_map_image(jit->options.pack, packed->own, &source->size);
	source->mapped = source->bytes != NULL;
	if (source->size > MT_JIT_BYTES_MAX - jit->bytes) {
		release_bytes(source);
		refuse(source, MT_MODULE_UNREADABLE, "too large");
	}
	jit->bytes += source->size;
}

void mt_jit_map_key(const struct mt_jit *jit, uint32_t process, char *path,
		    struct mt_file *ret_key)
{
	const struct mt_process *p = mt_session_process(jit->session, process);

	snprintf(path, MT_JIT_PATH_MAX, "/tmp/perf-%u.map", p->own_pid);
	/* No inode: pids are used again, but not by processes that start at one time. */
	*ret_key = (struct mt_file){ .path = path, .generation = p->start };
}

/* As a module of that process: nothing else says that it wrote the file. */
static void open_map(struct mt_jit *jit, uint32_t index, struct process *process)
{
	const struct mt_process *p = mt_session_process(jit->session, index);
	struct source *source = &process->map;
	struct mt_file key;
	int fd;

	source->tried = true;
	mt_jit_map_key(jit, index, process->path, &key);
	if (jit->options.pack && !jit->options.sysroot) {
		take_packed(jit, source, &key);
		return;
	}
	if (!jit->options.start_realtime)
		return;
	source->status = mt_jit_open_map(&jit->options, process->path, p->start, p->end, &fd,
					 source->reason);
	source->there = source->status != MT_MODULE_GONE;
	if (source->status == MT_MODULE_VERIFIED)
		read_all(jit, source, fd);
}

static void open_dump(struct mt_jit *jit, uint32_t index)
{
	struct source *source = &jit->dumps[index];
	struct mt_file file = *mt_session_file(jit->session, index);
	bool written;
	int fd;

	source->tried = true;
	/* It was written to all the time that it was mapped. */
	file.noted = true;
	if (mt_pack_find(jit->options.pack, &file)) {
		take_packed(jit, source, &file);
		return;
	}
	source->status = mt_module_file_open(&file, &jit->options, &fd, &written, source->reason);
	source->there = source->status != MT_MODULE_GONE;
	if (source->status == MT_MODULE_VERIFIED)
		read_all(jit, source, fd);
}

static bool give_file(const struct source *source, const char *path, struct mt_jit_file *ret_file)
{
	if (!source->there)
		return false;
	*ret_file = (struct mt_jit_file){
		.path = path, .status = source->status, .reason = source->reason,
		.bytes = source->bytes, .size = source->size,
	};
	return true;
}

bool mt_jit_map(struct mt_jit *jit, uint32_t index, struct mt_jit_file *ret_file)
{
	struct process *process = &jit->processes[index];

	if (!process->map.tried)
		open_map(jit, index, process);
	return give_file(&process->map, process->path, ret_file);
}

bool mt_jit_dump(struct mt_jit *jit, uint32_t index, struct mt_jit_file *ret_file)
{
	const char *path = mt_session_file(jit->session, index)->path;

	if (!mt_jit_is_dump(path))
		return false;
	if (!jit->dumps[index].tried)
		open_dump(jit, index);
	return give_file(&jit->dumps[index], path, ret_file);
}

/* The dumps that the process had mapped. A damaged or endless one gives what it can. */
static int take_dumps(struct mt_jit *jit, uint32_t index, struct process *process)
{
	size_t low = 0, high = jit->n_uses, mid;
	struct mt_jit_file file;
	int err = 0;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (jit->uses[mid].process < index)
			low = mid + 1;
		else
			high = mid;
	}
	for (; err != -ENOMEM && low < jit->n_uses && jit->uses[low].process == index; low++) {
		if (low && !by_process(&jit->uses[low - 1], &jit->uses[low]))
			continue;
		if (!mt_jit_dump(jit, jit->uses[low].file, &file) || !file.bytes)
			continue;
		err = mt_jit_codes_take_dump(process->codes, file.bytes, file.size);
		process->timed = true;
	}
	return err == -ENOMEM ? err : 0;
}

static void load(struct mt_jit *jit, uint32_t index, struct process *process)
{
	struct mt_jit_file file;
	int err;

	process->loaded = true;
	err = mt_jit_codes_new(&process->codes);
	if (!err && mt_jit_map(jit, index, &file) && file.bytes)
		err = mt_jit_codes_take_map(process->codes, file.bytes, file.size);
	if (err != -ENOMEM)
		err = take_dumps(jit, index, process);
	if (!err)
		err = mt_jit_codes_index(process->codes);
	release_bytes(&process->map);
	if (!err && mt_jit_codes_count(process->codes) &&
	    mt_jit_codes_count(process->codes) < UINT32_MAX - jit->n_codes) {
		process->base = jit->n_codes;
		jit->n_codes += (uint32_t)mt_jit_codes_count(process->codes);
		jit->loaded[jit->n_loaded++] = index;
		return;
	}
	/* Names fail to be found then, and nothing else does. */
	mt_jit_codes_free(process->codes);
	process->codes = NULL;
}

/* Did the process begin as a copy of another's memory, or in it? */
static uint32_t inherits_from(const struct mt_jit *jit, uint32_t index, uint64_t time)
{
	const struct mt_process *p = mt_session_process(jit->session, index);
	uint32_t space = mt_session_space(jit->session, index, time);

	if (p->parent == MT_NONE || space == MT_NONE)
		return MT_NONE;
	if (mt_session_space_parent(jit->session, space) == MT_NONE &&
	    mt_session_space(jit->session, p->parent, time) != space)
		return MT_NONE;
	return p->parent;
}

uint32_t mt_jit_find(struct mt_jit *jit, uint32_t index, uint64_t addr, uint64_t time,
		     bool *ret_lasting)
{
	struct process *process;
	uint32_t code, i, parent;

	*ret_lasting = true;
	for (i = 0; i < ANCESTORS_MAX && index < mt_session_processes(jit->session); i++) {
		process = &jit->processes[index];
		if (!process->loaded)
			load(jit, index, process);
		if (process->codes) {
			*ret_lasting &= !process->timed;
			code = mt_jit_codes_find(process->codes, addr, time);
			if (code != MT_JIT_NONE)
				return process->base + code + 1;
		}
		parent = inherits_from(jit, index, time);
		if (parent != MT_NONE) {
			*ret_lasting = false;
			if (time > mt_session_process(jit->session, index)->start)
				time = mt_session_process(jit->session, index)->start;
		}
		index = parent;
	}
	return 0;
}

/* Whose code it is. */
static const struct process *process_of(const struct mt_jit *jit, uint32_t id)
{
	uint32_t low = 0, high = jit->n_loaded, mid;

	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (jit->processes[jit->loaded[mid]].base < id)
			low = mid;
		else
			high = mid;
	}
	return &jit->processes[jit->loaded[low]];
}

const char *mt_jit_name(const struct mt_jit *jit, uint32_t id)
{
	const struct process *process = process_of(jit, id);

	return mt_jit_codes_at(process->codes, id - process->base - 1)->name;
}

bool mt_jit_line(const struct mt_jit *jit, uint32_t id, uint64_t addr, const char **ret_file,
		 uint32_t *ret_line)
{
	const struct process *process = process_of(jit, id);

	return mt_jit_codes_line(process->codes, id - process->base - 1, addr, ret_file, ret_line);
}

bool mt_jit_refused(const struct mt_jit *jit, uint32_t index, const char **ret_path,
		    const char **ret_reason)
{
	const struct process *process = &jit->processes[index];

	if (!process->loaded || !process->map.there ||
	    process->map.status == MT_MODULE_VERIFIED)
		return false;
	*ret_path = process->path;
	*ret_reason = process->map.reason;
	return true;
}
