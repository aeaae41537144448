/*
 * record/code_mask.h - what is address in a signed return address.
 */
#ifndef MT_RECORD_CODE_MASK_H
#define MT_RECORD_CODE_MASK_H

#include <stdint.h>

/*
 * The and-mask that strips a pointer authentication code from a code address of any process of
 * this machine; ~0 where there are none. On arm64 the code takes the bits above the
 * virtual address size but bit 55 (Linux: Documentation/arm64/pointer-authentication.rst).
 */
uint64_t mt_code_mask(void);

#endif
