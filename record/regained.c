#include "record/regained.h"

#include <errno.h>

#include "common/grow.h"

#define RECORDS_MAX 8192u
#define BYTES_MAX (1u << 20)

void mt_regained_init(struct mt_regained *regained)
{
	memset(regained, 0, sizeof(*regained));
	pthread_mutex_init(&regained->lock, NULL);
}

static void free_records(struct mt_mmap_record *records, uint32_t n)
{
	while (n)
		free((char *)(uintptr_t)records[--n].path);
	free(records);
}

void mt_regained_release(struct mt_regained *regained)
{
	free_records(regained->records, regained->n);
	pthread_mutex_destroy(&regained->lock);
}

/* With the lock held. */
static int add(struct mt_regained *regained, const struct mt_mmap_record *record)
{
	size_t bytes = strlen(record->path) + 1 + MT_ALLOCATION_BYTES;
	struct mt_mmap_record *copy;
	int err;

	if (regained->n == RECORDS_MAX || bytes > BYTES_MAX - regained->bytes)
		return -ENOBUFS;
	err = mt_grow(&regained->records, regained->n, &regained->cap, sizeof(*copy), RECORDS_MAX);
	if (err)
		return err;
	copy = &regained->records[regained->n];
	*copy = *record;
	copy->path = strdup(record->path);
	if (!copy->path)
		return -ENOMEM;
	regained->bytes += bytes;
	__atomic_store_n(&regained->n, regained->n + 1, __ATOMIC_RELEASE);
	return 0;
}

int mt_regained_add(struct mt_regained *regained, const struct mt_mmap_record *record)
{
	int err;

	pthread_mutex_lock(&regained->lock);
	err = add(regained, record);
	pthread_mutex_unlock(&regained->lock);
	return err;
}

bool mt_regained_empty(const struct mt_regained *regained)
{
	return !__atomic_load_n(&regained->n, __ATOMIC_ACQUIRE);
}

size_t mt_regained_take(struct mt_regained *regained, mt_mmap_record_fn fn, void *arg)
{
	struct mt_mmap_record *records;
	uint32_t n, i;

	if (mt_regained_empty(regained))
		return 0;
	pthread_mutex_lock(&regained->lock);
	records = regained->records;
	n = regained->n;
	regained->records = NULL;
	regained->cap = 0;
	regained->bytes = 0;
	__atomic_store_n(&regained->n, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&regained->lock);
	for (i = 0; i < n; i++)
		fn(arg, &records[i]);
	free_records(records, n);
	return n;
}
