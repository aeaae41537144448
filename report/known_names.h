/*
 * report/known_names.h - named addresses of one module as bytes, and back: for the cache.
 */
#ifndef MT_KNOWN_NAMES_H
#define MT_KNOWN_NAMES_H

#include "common/buf.h"
#include "report/symbolize.h"

#define MT_KNOWN_ADDRESSES_MAX (1u << 21)
#define MT_KNOWN_BYTES_MAX (128u << 20)

/* Of locations: function, linkage, file, line and inlined. */
struct mt_known_address {
	uint64_t svma;
	const struct mt_location *locations;
	uint32_t n;		/* at least 1 */
};

struct mt_known_names {
	bool symbols;		/* the module has any */
	bool lines;
	size_t n;
	struct mt_known_address *addresses;	/* ascending */
	struct mt_location *locations;		/* all of them */
	char *strings;
};

/* Whatever the bytes are: 0, -MT_E_CORRUPT, -MT_E_LIMIT, -ENOMEM. */
int mt_known_names_read(const void *bytes, size_t len, struct mt_known_names *ret_names);
void mt_known_names_release(struct mt_known_names *names);

/* NULL: it is not known. */
const struct mt_known_address *mt_known_names_find(const struct mt_known_names *names,
						   uint64_t svma);

/* Addresses ascend. -MT_E_LIMIT: there is too much. */
int mt_known_names_write(const struct mt_known_names *names, struct mt_buf *buf);

#endif
