#include "record/programs_impl.h"

uint32_t mt_programs_take_unasked(struct mt_programs *programs)
{
	__u32 *unasked = &programs->skel->bss->unasked;

	return __atomic_load_n(unasked, __ATOMIC_ACQUIRE) ?
	       __atomic_exchange_n(unasked, 0, __ATOMIC_ACQ_REL) : 0;
}

bool mt_programs_take_paused(struct mt_programs *programs)
{
	return __atomic_exchange_n(&programs->skel->bss->paused_some, 0, __ATOMIC_ACQ_REL);
}

void mt_programs_begin_pressure(struct mt_programs *programs)
{
	__atomic_store_n(&programs->skel->bss->pressure_latch, 1, __ATOMIC_RELEASE);
}

bool mt_programs_in_episode(const struct mt_programs *programs)
{
	return __atomic_load_n(&programs->skel->bss->pressure_latch, __ATOMIC_ACQUIRE);
}

void mt_programs_end_pressure(struct mt_programs *programs)
{
	__atomic_store_n(&programs->skel->bss->pressure_latch, 0, __ATOMIC_RELEASE);
}

uint64_t mt_programs_mappings_made(const struct mt_programs *programs)
{
	return __atomic_load_n(&programs->skel->bss->mappings_made, __ATOMIC_ACQUIRE);
}

void mt_programs_mappings_read(const struct mt_programs *programs, uint64_t n)
{
	__atomic_store_n(&programs->skel->bss->mappings_read, n, __ATOMIC_RELEASE);
}

bool mt_programs_mappings_all_read(const struct mt_programs *programs)
{
	return __atomic_load_n(&programs->skel->bss->mappings_read, __ATOMIC_ACQUIRE) ==
	       mt_programs_mappings_made(programs);
}
