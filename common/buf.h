/*
 * common/buf.h - growable byte buffer.
 *
 * Reserve once, append without allocating: mt_buf_reserve() is the only function
 * that allocates when the capacity given to it suffices.
 */
#ifndef MT_BUF_H
#define MT_BUF_H

#include <stddef.h>
#include <stdint.h>

struct mt_buf {
	uint8_t *data;
	size_t len;
	size_t cap;
};

void mt_buf_init(struct mt_buf *buf);
void mt_buf_release(struct mt_buf *buf);

/* Make room for n more bytes: 0, or -ENOMEM with buf unchanged. */
int mt_buf_reserve(struct mt_buf *buf, size_t n);
int mt_buf_append(struct mt_buf *buf, const void *bytes, size_t n);

/* Forget the contents, keep the memory. */
static inline void mt_buf_reset(struct mt_buf *buf)
{
	buf->len = 0;
}

#endif
