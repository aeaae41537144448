#include "record/stop_table.h"

void mt_stop_table_set(struct mt_stop_table *table, int pid, bool stopped)
{
	uint64_t bit = 1ULL << (pid & 63);
	uint64_t *word;

	if (pid <= 0 || pid >= MT_STOP_PIDS)
		return;
	word = &table->words[pid >> 6];
	__atomic_store_n(word, stopped ? *word | bit : *word & ~bit, __ATOMIC_RELEASE);
}

bool mt_stop_table_has(const struct mt_stop_table *table, int pid)
{
	return pid > 0 && pid < MT_STOP_PIDS && table->words[pid >> 6] >> (pid & 63) & 1;
}

int mt_stop_table_next(const struct mt_stop_table *table, int pid)
{
	uint64_t word;
	int i;

	if (pid < 0)
		pid = 0;
	for (i = pid >> 6; i < MT_STOP_WORDS; i++) {
		word = __atomic_load_n(&table->words[i], __ATOMIC_ACQUIRE);
		if (i == pid >> 6)
			word &= ~0ULL << (pid & 63);
		if (word)
			return i << 6 | __builtin_ctzll(word);
	}
	return 0;
}
