#include "common/grow.h"
#include "common/error.h"

#include <errno.h>

int mt_grow(void *array, uint32_t n, uint32_t *cap, size_t size, uint32_t max)
{
	uint32_t more = *cap ? *cap * 2 : 16;
	void *data;

	if (n < *cap)
		return 0;
	if (n >= max || *cap > MT_GROW_MAX)
		return -MT_E_LIMIT;
	/* The pointer is of the caller's type. */
	memcpy(&data, array, sizeof(data));
	data = reallocarray(data, more, size);
	if (!data)
		return -ENOMEM;
	memcpy(array, &data, sizeof(data));
	*cap = more;
	return 0;
}
