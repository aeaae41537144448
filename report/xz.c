#include "report/xz.h"

#include "common/error.h"

#include <errno.h>
#include <lzma.h>

#define FIRST_BYTES 65536u
/* What the decoder itself may take: twice what the strongest preset needs. */
#define MEMORY_MAX (128ull << 20)

/* Twice the room: 0, -ENOMEM, -MT_E_LIMIT. */
static int grow(lzma_stream *stream, uint8_t **bytes, size_t *cap, size_t limit)
{
	size_t more = *cap ? 2 * *cap : FIRST_BYTES;
	uint8_t *bigger;

	if (*cap >= limit)
		return -MT_E_LIMIT;
	if (more > limit)
		more = limit;
	bigger = realloc(*bytes, more);
	if (!bigger)
		return -ENOMEM;
	stream->next_out = bigger + *cap;
	stream->avail_out = more - *cap;
	*bytes = bigger;
	*cap = more;
	return 0;
}

int mt_xz_unpack(const uint8_t *packed, size_t size, size_t limit, uint8_t **ret_bytes,
		 size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *bytes = NULL;
	size_t cap = 0;
	lzma_ret ret;
	int err = 0;

	if (lzma_stream_decoder(&stream, MEMORY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = size;
	do {
		if (!stream.avail_out) {
			err = grow(&stream, &bytes, &cap, limit);
			if (err)
				goto out;
		}
		ret = lzma_code(&stream, LZMA_FINISH);
	} while (ret == LZMA_OK);
	err = ret == LZMA_STREAM_END ? 0 : ret == LZMA_MEM_ERROR ? -ENOMEM :
	      ret == LZMA_MEMLIMIT_ERROR ? -MT_E_LIMIT : -EBADMSG;
	if (err)
		goto out;
	*ret_bytes = bytes;
	*ret_size = (size_t)stream.total_out;
out:
	lzma_end(&stream);
	if (err)
		free(bytes);
	return err;
}
