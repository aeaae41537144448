#include "record/rewrites.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/grow.h"
#include "record/clock.h"
#include "record/elf_image.h"
#include "record/timed_wait.h"

#define FILES_MAX 65536u
#define BYTES_MAX (5u << 19)	/* of them all: many thousands */
#define AT_ONCE_NS 1000000u
#define END_NS 1000000000u	/* for a look to end before it is given up */

struct watched {
	struct mt_file_note note;	/* as it was told last; its pointers are to what follows */
	uint8_t build_id[MT_BUILD_ID_MAX];
	struct watched *next_told;
	dev_t dev;			/* by stat(2): on overlays another one than the mapping's */
	ino_t ino;
	char path[];
};

struct mt_rewrites {
	pthread_mutex_t lock;		/* of the list, and of what the threads tell each other */
	pthread_cond_t changed;
	struct watched **files;
	uint32_t n, cap;
	size_t bytes;
	bool looking;			/* all below, and in the files, is the thread's then ... */
	bool ending;
	bool ended;
	bool running;
	pthread_t thread;
	const char *at;			/* "" between looks */
	uint32_t next;
	struct watched *told;		/* ... and else the taker's */
};

int mt_rewrites_new(struct mt_rewrites **ret_rewrites)
{
	struct mt_rewrites *rewrites = calloc(1, sizeof(*rewrites));

	if (!rewrites)
		return -ENOMEM;
	pthread_mutex_init(&rewrites->lock, NULL);
	mt_cond_init(&rewrites->changed);
	rewrites->at = "";
	*ret_rewrites = rewrites;
	return 0;
}

int mt_rewrites_watch(struct mt_rewrites *rewrites, const struct mt_file_note *note,
		       const struct stat *st)
{
	size_t len = strlen(note->path) + 1, bytes = sizeof(struct watched) + len;
	struct watched *file = calloc(1, bytes);
	int err;

	if (!file)
		return -ENOMEM;
	file->note = *note;
	memcpy(file->build_id, note->build_id, note->n_build_id);
	memcpy(file->path, note->path, len);
	file->note.build_id = file->build_id;
	file->note.path = file->path;
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	pthread_mutex_lock(&rewrites->lock);
	bytes += MT_ALLOCATION_BYTES + sizeof(file);
	err = bytes > BYTES_MAX - rewrites->bytes ? -MT_E_LIMIT :
	      mt_grow(&rewrites->files, rewrites->n, &rewrites->cap, sizeof(*rewrites->files),
		      FILES_MAX);
	if (!err) {
		rewrites->files[rewrites->n++] = file;
		rewrites->bytes += bytes;
	}
	pthread_mutex_unlock(&rewrites->lock);
	if (err)
		free(file);
	return err;
}

/* The time of CLOCK_REALTIME by CLOCK_MONOTONIC, never 0. */
static uint64_t monotonic(const struct timespec *time)
{
	struct timespec before, real, mono;
	unsigned int tries = 0;
	uint64_t then = mt_nanoseconds(time), now, ago;

	/* Both clocks at once, unless the CPU is taken from us each time. */
	do {
		clock_gettime(CLOCK_MONOTONIC, &before);
		clock_gettime(CLOCK_REALTIME, &real);
		clock_gettime(CLOCK_MONOTONIC, &mono);
	} while (mt_nanoseconds(&mono) - mt_nanoseconds(&before) > AT_ONCE_NS && ++tries < 100);
	now = mt_nanoseconds(&real);
	ago = now > then ? now - then : 0;
	return mt_nanoseconds(&mono) > ago ? mt_nanoseconds(&mono) - ago : 1;
}

static bool is_same(const struct watched *file, const struct stat *st)
{
	return st->st_dev == file->dev && st->st_ino == file->ino && S_ISREG(st->st_mode);
}

static bool is_unchanged(const struct watched *file, const struct stat *st)
{
	return (uint64_t)st->st_size == file->note.size &&
	       mt_nanoseconds(&st->st_mtim) == file->note.mtime;
}

static uint32_t read_build_id(int fd, uint8_t build_id[MT_BUILD_ID_MAX])
{
	struct mt_elf_image image;
	uint32_t n;

	if (mt_elf_image_open(fd, &image))
		return 0;
	n = mt_elf_image_build_id(&image, build_id);
	mt_elf_image_close(&image);
	return n;
}

/* True: it has another build-id than was told last. */
static bool look_at(struct watched *file)
{
	uint8_t build_id[MT_BUILD_ID_MAX] = {};
	struct stat st, after;
	uint32_t n;
	int fd;

	if (stat(file->path, &st) || !is_same(file, &st) || is_unchanged(file, &st))
		return false;
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !is_same(file, &st)) {
		close(fd);
		return false;
	}
	n = read_build_id(fd, build_id);
	/* Is it being written just now? Then the next look will see all of it. */
	if (fstat(fd, &after) || after.st_size != st.st_size ||
	    mt_nanoseconds(&after.st_mtim) != mt_nanoseconds(&st.st_mtim)) {
		close(fd);
		return false;
	}
	close(fd);
	file->note.size = st.st_size;
	file->note.mtime = mt_nanoseconds(&st.st_mtim);
	if (n == file->note.n_build_id && !memcmp(build_id, file->build_id, n))
		return false;
	file->note.n_build_id = n;
	memcpy(file->build_id, build_id, sizeof(build_id));
	/* Not when it says that it was modified: anybody can set that, and cp -p does. */
	file->note.since = monotonic(&st.st_ctim);
	return true;
}

static void look(struct mt_rewrites *rewrites)
{
	struct watched *file, **end = &rewrites->told;
	uint32_t i, n;

	*end = NULL;
	pthread_mutex_lock(&rewrites->lock);
	n = rewrites->n;
	for (i = 0; i < n && i < MT_REWRITES_A_LOOK && !rewrites->ending; i++) {
		if (rewrites->next >= rewrites->n)
			rewrites->next = 0;
		file = rewrites->files[rewrites->next++];
		rewrites->at = file->path;
		pthread_mutex_unlock(&rewrites->lock);
		if (look_at(file)) {
			file->next_told = NULL;
			*end = file;
			end = &file->next_told;
		}
		pthread_mutex_lock(&rewrites->lock);
	}
	rewrites->at = "";
	pthread_mutex_unlock(&rewrites->lock);
}

static void *run(void *arg)
{
	struct mt_rewrites *rewrites = arg;

	pthread_mutex_lock(&rewrites->lock);
	while (!rewrites->ending) {
		if (!rewrites->looking) {
			pthread_cond_wait(&rewrites->changed, &rewrites->lock);
			continue;
		}
		pthread_mutex_unlock(&rewrites->lock);
		look(rewrites);
		pthread_mutex_lock(&rewrites->lock);
		rewrites->looking = false;
		pthread_cond_broadcast(&rewrites->changed);
	}
	rewrites->ended = true;
	pthread_cond_broadcast(&rewrites->changed);
	pthread_mutex_unlock(&rewrites->lock);
	return NULL;
}

int mt_rewrites_start(struct mt_rewrites *rewrites)
{
	int err = pthread_create(&rewrites->thread, NULL, run, rewrites);

	rewrites->running = !err;
	return -err;
}

/* Until *flag is as wanted, so long at most; the lock is held. */
static bool wait_until(struct mt_rewrites *rewrites, const bool *flag, bool wanted, uint64_t ns)
{
	uint64_t until = mt_now() + ns;

	while (*flag != wanted)
		if (!ns || !mt_cond_wait_until(&rewrites->changed, &rewrites->lock, until))
			break;
	return *flag == wanted;
}

void mt_rewrites_free(struct mt_rewrites *rewrites)
{
	uint32_t i;

	if (!rewrites)
		return;
	if (rewrites->running) {
		pthread_mutex_lock(&rewrites->lock);
		rewrites->ending = true;
		pthread_cond_broadcast(&rewrites->changed);
		rewrites->running = !wait_until(rewrites, &rewrites->ended, true, END_NS);
		pthread_mutex_unlock(&rewrites->lock);
		if (rewrites->running) {
			pthread_detach(rewrites->thread);
			return;
		}
		pthread_join(rewrites->thread, NULL);
	}
	for (i = 0; i < rewrites->n; i++)
		free(rewrites->files[i]);
	free(rewrites->files);
	pthread_cond_destroy(&rewrites->changed);
	pthread_mutex_destroy(&rewrites->lock);
	free(rewrites);
}

void mt_rewrites_ask(struct mt_rewrites *rewrites)
{
	pthread_mutex_lock(&rewrites->lock);
	rewrites->looking = true;
	pthread_cond_broadcast(&rewrites->changed);
	pthread_mutex_unlock(&rewrites->lock);
}

bool mt_rewrites_wait(struct mt_rewrites *rewrites, uint64_t ns)
{
	bool done;

	pthread_mutex_lock(&rewrites->lock);
	done = wait_until(rewrites, &rewrites->looking, false, ns);
	pthread_mutex_unlock(&rewrites->lock);
	return done;
}

void mt_rewrites_take(struct mt_rewrites *rewrites, mt_rewrite_fn fn, void *arg)
{
	struct watched *file;

	for (file = rewrites->told; file; file = file->next_told)
		fn(arg, &file->note);
	rewrites->told = NULL;
}

const char *mt_rewrites_looked_at(struct mt_rewrites *rewrites)
{
	const char *at;

	pthread_mutex_lock(&rewrites->lock);
	at = rewrites->at;
	pthread_mutex_unlock(&rewrites->lock);
	return at;
}
