/*
 * report/elf_unpack.h - ELF files whose sections are compressed in a way that libelf may not know.
 *
 * libelf unpacks zlib itself, but zstd only since version 0.189.
 */
#ifndef MT_ELF_UNPACK_H
#define MT_ELF_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * The file with its zstd sections unpacked and appended; *ret_bytes is the caller's. No section
 * and not all together have more than limit bytes. -MT_E_NO_DATA: it has none; -EBADMSG: damaged;
 * -MT_E_LIMIT, -ENOMEM. Never trusts a byte. 64-bit little-endian files only.
 */
int mt_elf_unpack(const uint8_t *bytes, size_t size, uint64_t limit, uint8_t **ret_bytes,
		  size_t *ret_size);

#endif
