#include "record/code_mask.h"

#ifdef __aarch64__

#include <sys/auxv.h>

#ifndef HWCAP_PACA
#define HWCAP_PACA (1UL << 30)
#endif

uint64_t mt_code_mask(void)
{
	uint64_t stack = (uintptr_t)__builtin_frame_address(0);

	if (!(getauxval(AT_HWCAP) & HWCAP_PACA))
		return UINT64_MAX;
	/*
	 * The initial stack ends within some GiB of the end of what a process is given
	 * without asking for more: 2^39 or 2^48, also where there are 52 bits.
	 */

	return UINT64_MAX >> __builtin_clzll(stack);
}

#else

uint64_t mt_code_mask(void)
{
	return UINT64_MAX;
}

#endif
