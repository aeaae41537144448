#include "report/cache.h"

#include "common/error.h"
#include "common/frame.h"
#include "report/cache_folder.h"
#include "report/module_sources.h"
#include "report/new_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define MAGIC "mt-cache"
#define LEVEL 1
#define NAME_SIZE (2 * MT_BUILD_ID_MAX + 64)

/* What stands before an entry's content, in the frame and so under its checksum. */
struct head {
	char magic[8];
	uint32_t kind;
	uint32_t zero;
	struct mt_module_sources sources;
};

struct mt_cache {
	char *dir;
	int fd;
	bool may_write;
	pthread_mutex_t lock;	/* of stats */
	struct mt_cache_stats stats;
};

static const char *const kind_names[MT_CACHE_KINDS] = { "cfi", "names" };

int mt_cache_open(const char *dir, struct mt_cache **ret_cache)
{
	struct mt_cache *cache = calloc(1, sizeof(*cache));
	int err;

	if (!cache)
		return -ENOMEM;
	pthread_mutex_init(&cache->lock, NULL);
	cache->fd = -1;
	err = mt_cache_folder_find(dir, &cache->dir);
	if (!err)
		err = mt_cache_folder_open(cache->dir, &cache->fd, &cache->may_write);
	if (err) {
		mt_cache_free(cache);
		return err;
	}
	*ret_cache = cache;
	return 0;
}

void mt_cache_free(struct mt_cache *cache)
{
	if (!cache)
		return;
	if (cache->fd >= 0) {
		if (cache->stats.written)
			mt_cache_folder_trim(cache->fd, MT_CACHE_BYTES_MAX);
		close(cache->fd);
	}
	pthread_mutex_destroy(&cache->lock);
	free(cache->dir);
	free(cache);
}

const char *mt_cache_dir(const struct mt_cache *cache)
{
	return cache->dir;
}

void mt_cache_stats(struct mt_cache *cache, struct mt_cache_stats *ret_stats)
{
	pthread_mutex_lock(&cache->lock);
	*ret_stats = cache->stats;
	pthread_mutex_unlock(&cache->lock);
}

static void count(struct mt_cache *cache, unsigned int *counter)
{
	pthread_mutex_lock(&cache->lock);
	(*counter)++;
	pthread_mutex_unlock(&cache->lock);
}

void mt_cache_judge(struct mt_cache *cache, bool good)
{
	count(cache, good ? &cache->stats.used : &cache->stats.bad);
}

static void entry_name(const struct mt_module_sources *sources, enum mt_cache_kind kind,
		       char name[NAME_SIZE])
{
	size_t n = 0, i;

	for (i = 0; i < sources->n_build_id; i++)
		n += (size_t)snprintf(name + n, NAME_SIZE - n, "%02x", sources->build_id[i]);
	snprintf(name + n, NAME_SIZE - n, "-%s-%" PRIx64 ".%s",
		 sources->machine == EM_AARCH64 ? "aarch64" :
		 sources->machine == EM_X86_64 ? "x86_64" : "other", sources->own.size,
		 kind_names[kind]);
}

int mt_cache_unpack(const void *file, size_t size, enum mt_cache_kind kind, const void *sources,
		    size_t n_sources, struct mt_buf *ret_bytes)
{
	unsigned long long content = ZSTD_getFrameContentSize(file, size);
	struct head head;
	size_t done;
	int err;

	if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN ||
	    content < sizeof(head) || ZSTD_findFrameCompressedSize(file, size) != size)
		return -MT_E_CORRUPT;
	if (content > MT_CACHE_ENTRY_MAX)
		return -MT_E_LIMIT;
	/* The fourth byte from the frame's start on: bit 2 says that a checksum follows. */
	if (!(((const uint8_t *)file)[4] & 4))
		return -MT_E_CORRUPT;
	mt_buf_reset(ret_bytes);
	err = mt_buf_reserve(ret_bytes, content);
	if (err)
		return err;
	done = ZSTD_decompress(ret_bytes->data, content, file, size);
	if (ZSTD_isError(done) || done != content)
		return -MT_E_CORRUPT;
	memcpy(&head, ret_bytes->data, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) || head.zero)
		return -MT_E_CORRUPT;
	if (head.kind != kind || n_sources != sizeof(head.sources) ||
	    memcmp(&head.sources, sources, n_sources))
		return -MT_E_NO_DATA;
	ret_bytes->len = content - sizeof(head);
	memmove(ret_bytes->data, ret_bytes->data + sizeof(head), ret_bytes->len);
	return 0;
}

/* The bytes of an entry that nobody else could have written: 0, -ENOENT, or why not. */
static int read_entry(int folder, const char *name, uint8_t **ret_bytes, size_t *ret_size)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t *bytes = NULL;
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -MT_E_CORRUPT;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !mt_cache_folder_is_ours(&st)) {
		err = -MT_E_CORRUPT;
		goto out_close;
	}
	err = -MT_E_LIMIT;
	if (st.st_size < 8 || st.st_size > (off_t)MT_CACHE_ENTRY_MAX)
		goto out_close;
	err = -ENOMEM;
	bytes = malloc((size_t)st.st_size);
	if (!bytes)
		goto out_close;
	err = mt_read_at(fd, 0, bytes, (size_t)st.st_size);
	if (err)
		goto out_close;
	/* What is read is not the oldest, which goes first. */
	if (st.st_uid == geteuid())
		futimens(fd, NULL);
	*ret_bytes = bytes;
	*ret_size = (size_t)st.st_size;
	bytes = NULL;

out_close:
	free(bytes);
	close(fd);
	return err;
}

/* 0, -ENOENT: there is none, or as mt_cache_unpack(). */
static int look_up(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		   struct mt_buf *ret_bytes)
{
	struct mt_module_sources sources;
	char name[NAME_SIZE];
	uint8_t *file = NULL;
	size_t size = 0;
	int err;

	if (!cache || !mt_module_sources(module, &sources))
		return -ENOENT;
	entry_name(&sources, kind, name);
	err = read_entry(cache->fd, name, &file, &size);
	if (!err)
		err = mt_cache_unpack(file, size, kind, &sources, sizeof(sources), ret_bytes);
	free(file);
	return err;
}

bool mt_cache_peek(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		   struct mt_buf *ret_bytes)
{
	return !look_up(cache, kind, module, ret_bytes);
}

bool mt_cache_get(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		  struct mt_buf *ret_bytes)
{
	int err = look_up(cache, kind, module, ret_bytes);

	if (err == -MT_E_NO_DATA)
		count(cache, &cache->stats.stale);
	else if (err && err != -ENOENT)
		count(cache, &cache->stats.bad);
	return !err;
}

/* The frame of an entry: allocated. */
static int pack(const struct head *head, const void *bytes, size_t len, void **ret_frame,
		size_t *ret_size)
{
	size_t total = sizeof(*head) + len, size, cap = ZSTD_compressBound(total);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	uint8_t *content = malloc(total), *frame = malloc(cap);
	int err = -ENOMEM;

	if (!context || !content || !frame)
		goto out;
	memcpy(content, head, sizeof(*head));
	if (len)
		memcpy(content + sizeof(*head), bytes, len);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, frame, cap, content, total);
	if (ZSTD_isError(size))
		goto out;
	*ret_frame = frame;
	*ret_size = size;
	frame = NULL;
	err = 0;
out:
	ZSTD_freeCCtx(context);
	free(content);
	free(frame);
	return err;
}

static int write_entry(const char *dir, const char *name, const void *frame, size_t size)
{
	struct mt_new_file file;
	char *path;
	int err;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	err = mt_new_file_open(&file, path);
	if (!err) {
		/* Whatever the user's mask: what others can write would not be read. */
		err = fchmod(fileno(file.out), 0600) ? -errno : 0;
		if (!err && fwrite(frame, 1, size, file.out) != size)
			err = -EIO;
		err = mt_new_file_close(&file, err);
	}
	free(path);
	return err;
}

void mt_cache_put(struct mt_cache *cache, enum mt_cache_kind kind, struct mt_module *module,
		  const void *bytes, size_t len)
{
	struct head head = { .magic = MAGIC, .kind = kind };
	char name[NAME_SIZE];
	void *frame = NULL;
	size_t size;
	int err;

	if (!cache || !cache->may_write || len > MT_CACHE_ENTRY_MAX - sizeof(head) ||
	    !mt_module_sources(module, &head.sources))
		return;
	entry_name(&head.sources, kind, name);
	err = pack(&head, bytes, len, &frame, &size);
	if (!err)
		err = write_entry(cache->dir, name, frame, size);
	free(frame);
	count(cache, err ? &cache->stats.failed : &cache->stats.written);
}
