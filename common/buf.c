#include "common/buf.h"

#include <errno.h>

void mt_buf_init(struct mt_buf *buf)
{
	memset(buf, 0, sizeof(*buf));
}

void mt_buf_release(struct mt_buf *buf)
{
	free(buf->data);
	mt_buf_init(buf);
}

int mt_buf_reserve(struct mt_buf *buf, size_t n)
{
	size_t cap;
	uint8_t *data;

	if (n <= buf->cap - buf->len)
		return 0;
	if (n > SIZE_MAX / 2 - buf->len)
		return -ENOMEM;

	cap = buf->cap ? buf->cap : 256;
	while (cap - buf->len < n)
		cap *= 2;
	data = realloc(buf->data, cap);
	if (!data)
		return -ENOMEM;

	buf->data = data;
	buf->cap = cap;
	return 0;
}

int mt_buf_append(struct mt_buf *buf, const void *bytes, size_t n)
{
	int err = mt_buf_reserve(buf, n);

	if (err)
		return err;
	if (n)
		memcpy(buf->data + buf->len, bytes, n);
	buf->len += n;
	return 0;
}
