#include "record/file_notes.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/clock.h"
#include "record/descriptors.h"
#include "record/elf_image.h"
#include "record/proc_maps.h"
#include "record/rewrites.h"
#include "record/writer.h"

/* That wait to be written: more than can be looked at between two checkpoints. */
#define NOTES_MAX 2048u
#define PATHS_MAX (1u << 19)
#define LAST_LOOK_NS 2000000000u	/* for one file; nobody is held up by it any more */
#define LAST_LOOK_TURNS 5		/* for all */

struct note {
	struct mt_file_note row;
	uint8_t build_id[MT_BUILD_ID_MAX];
};

struct notes {
	uint32_t n;
	uint32_t used;		/* of paths */
	struct mt_file_note rows[NOTES_MAX];
	uint8_t build_ids[NOTES_MAX][MT_BUILD_ID_MAX];
	char paths[PATHS_MAX];
};

/* Added to the one, while the other may be written: that can take as long as nobody reads. */
struct mt_file_notes {
	pthread_mutex_t lock;
	uint64_t dropped;
	struct mt_rewrites *rewrites;
	bool started;		/* looking */
	const char *held_up;	/* see mt_file_notes_held_up() */
	struct notes *adding;
	struct notes halves[2];
};

int mt_file_notes_new(struct mt_file_notes **ret_notes)
{
	struct mt_file_notes *notes = calloc(1, sizeof(*notes));

	if (!notes)
		return -ENOMEM;
	if (mt_rewrites_new(&notes->rewrites)) {
		free(notes);
		return -ENOMEM;
	}
	pthread_mutex_init(&notes->lock, NULL);
	notes->adding = &notes->halves[0];
	*ret_notes = notes;
	return 0;
}

void mt_file_notes_free(struct mt_file_notes *notes)
{
	if (!notes)
		return;
	pthread_mutex_destroy(&notes->lock);
	mt_rewrites_free(notes->rewrites);
	free(notes);
}

static void add(struct mt_file_notes *notes, struct note *note, const char *path)
{
	size_t len = strlen(path) + 1;
	struct notes *to;

	pthread_mutex_lock(&notes->lock);
	to = notes->adding;
	if (to->n == NOTES_MAX || len > PATHS_MAX - to->used) {
		notes->dropped++;
	} else {
		memcpy(to->paths + to->used, path, len);
		note->row.path = to->paths + to->used;
		to->used += len;
		memcpy(to->build_ids[to->n], note->build_id, sizeof(note->build_id));
		note->row.build_id = to->build_ids[to->n];
		to->rows[to->n++] = note->row;
	}
	pthread_mutex_unlock(&notes->lock);
}

void mt_file_notes_add(struct mt_file_notes *notes, int fd, const char *path,
		       const struct mt_inode_key *key)
{
	char target[PATH_MAX];
	struct mt_elf_image image;
	struct note note = {};
	struct stat st;

	if (fstat(fd, &st))
		return;
	note.row.dev_major = key->dev >> 20;
	note.row.dev_minor = key->dev & 0xfffff;
	note.row.ino = key->ino;
	note.row.generation = key->generation;
	note.row.size = st.st_size;
	note.row.mtime = mt_nanoseconds(&st.st_mtim);
	if (!mt_elf_image_open(fd, &image)) {
		note.row.n_build_id = mt_elf_image_build_id(&image, note.build_id);
		mt_elf_image_close(&image);
	}
	if (!path)
		path = mt_descriptor_path(fd, target);
	add(notes, &note, path);
	note.row.path = path;
	note.row.build_id = note.build_id;
	mt_rewrites_watch(notes->rewrites, &note.row, &st);
}

static int find_vdso(void *arg, const struct mt_proc_map *map)
{
	struct mt_proc_map *found = arg;

	if (strcmp(map->path, "[vdso]") != 0)
		return 0;
	*found = *map;
	return 1;
}

void mt_file_notes_add_vdso(struct mt_file_notes *notes)
{
	struct mt_elf_image image;
	struct mt_proc_map map;
	struct note note = {};

	if (mt_proc_maps_each(getpid(), find_vdso, &map) != 1)
		return;
	note.row.size = map.end - map.start;
	if (mt_elf_image_read((const void *)(uintptr_t)map.start, map.end - map.start, &image))
		return;
	note.row.n_build_id = mt_elf_image_build_id(&image, note.build_id);
	add(notes, &note, "[vdso]");
}

struct rewriting {
	struct mt_writer *writer;
	int err;
};

static void write_rewritten(void *arg, const struct mt_file_note *note)
{
	struct rewriting *rewriting = arg;

	if (!rewriting->err)
		rewriting->err = mt_writer_rewritten(rewriting->writer, note, 1);
}

/* For long, if it gets on: a busy machine is slow, and not to be taken for one that is gone. */
static bool wait_for_last_look(struct mt_file_notes *notes)
{
	const char *at = mt_rewrites_looked_at(notes->rewrites), *before;
	unsigned int i;

	for (i = 0; i < LAST_LOOK_TURNS; i++) {
		if (mt_rewrites_wait(notes->rewrites, LAST_LOOK_NS))
			return true;
		before = at;
		at = mt_rewrites_looked_at(notes->rewrites);
		if (*at && at == before) {
			notes->held_up = at;
			return false;
		}
	}
	notes->held_up = "";
	return false;
}

/* At the end, what is overwritten until now is to be found too. */
static int write_overwritten(struct mt_file_notes *notes, struct mt_writer *writer, bool last)
{
	struct rewriting rewriting = { .writer = writer };

	if (last ? wait_for_last_look(notes) : mt_rewrites_wait(notes->rewrites, 0)) {
		mt_rewrites_take(notes->rewrites, write_rewritten, &rewriting);
		mt_rewrites_ask(notes->rewrites);
		if (last && wait_for_last_look(notes))
			mt_rewrites_take(notes->rewrites, write_rewritten, &rewriting);
	}
	return rewriting.err;
}

int mt_file_notes_start(struct mt_file_notes *notes)
{
	int err = mt_rewrites_start(notes->rewrites);

	notes->started = !err;
	return err;
}

int mt_file_notes_write(struct mt_file_notes *notes, struct mt_writer *writer, bool last)
{
	struct notes *from;
	int err = 0;

	pthread_mutex_lock(&notes->lock);
	from = notes->adding;
	notes->adding = &notes->halves[from == &notes->halves[0]];
	pthread_mutex_unlock(&notes->lock);
	if (from->n)
		err = mt_writer_files(writer, from->rows, from->n);
	from->n = 0;
	from->used = 0;
	if (!err && notes->started)
		err = write_overwritten(notes, writer, last);
	return err;
}

const char *mt_file_notes_held_up(const struct mt_file_notes *notes)
{
	return notes->held_up;
}

uint64_t mt_file_notes_dropped(struct mt_file_notes *notes)
{
	uint64_t dropped;

	pthread_mutex_lock(&notes->lock);
	dropped = notes->dropped;
	pthread_mutex_unlock(&notes->lock);
	return dropped;
}
