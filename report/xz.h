/*
 * report/xz.h - unpack an .xz stream that somebody else made.
 */
#ifndef MT_XZ_H
#define MT_XZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * Unpack one stream of at most limit bytes; memory follows what there is, not what it claims.
 * *ret_bytes is the caller's to free. 0, -ENOMEM, -MT_E_LIMIT, -EBADMSG: damaged or cut.
 */
int mt_xz_unpack(const uint8_t *packed, size_t size, size_t limit, uint8_t **ret_bytes,
		 size_t *ret_size);

#endif
