#include "record/ld_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "glibc-ld.so.cache1.1"
#define MAGIC_LEN 20
#define HEADER_LEN 48
#define ENTRY_LEN 24
#define SIZE_MAX_CACHE (64u << 20)

struct mt_ld_cache {
	uint8_t *bytes;
	size_t size;
	uint32_t n;
};

static uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static int read_all(int fd, uint8_t *bytes, size_t size)
{
	ssize_t n;

	while (size) {
		n = read(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EINVAL;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

int mt_ld_cache_open(const char *path, struct mt_ld_cache **ret_cache)
{
	struct mt_ld_cache *cache = NULL;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = -EINVAL;
	if (fstat(fd, &st) || st.st_size < HEADER_LEN || st.st_size > SIZE_MAX_CACHE)
		goto out;
	err = -ENOMEM;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		goto out;
	cache->size = (size_t)st.st_size;
	cache->bytes = malloc(cache->size);
	if (!cache->bytes)
		goto out;
	err = read_all(fd, cache->bytes, cache->size);
	if (err)
		goto out;
	cache->n = get32(cache->bytes + MAGIC_LEN);
	if (memcmp(cache->bytes, MAGIC, MAGIC_LEN) != 0 ||
	    cache->n > (cache->size - HEADER_LEN) / ENTRY_LEN)
		err = -EINVAL;
out:
	close(fd);
	if (err) {
		mt_ld_cache_free(cache);
		return err;
	}
	*ret_cache = cache;
	return 0;
}

void mt_ld_cache_free(struct mt_ld_cache *cache)
{
	if (!cache)
		return;
	free(cache->bytes);
	free(cache);
}

/* String at an offset from the start of the cache, "" if it does not end in it. */
static const char *string_at(const struct mt_ld_cache *cache, uint32_t offset)
{
	if (offset >= cache->size || !memchr(cache->bytes + offset, '\0', cache->size - offset))
		return "";
	return (const char *)cache->bytes + offset;
}

const char *mt_ld_cache_find(const struct mt_ld_cache *cache, const char *name, size_t index)
{
	const uint8_t *entry = cache->bytes + HEADER_LEN;
	uint32_t i;

	/* Entry: flags, key, value, OS version (4 bytes each), hwcap (8). */
	for (i = 0; i < cache->n; i++, entry += ENTRY_LEN)
		if (strcmp(string_at(cache, get32(entry + 4)), name) == 0 && index-- == 0)
			return string_at(cache, get32(entry + 8));
	return NULL;
}
