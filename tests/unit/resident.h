/*
 * tests/unit/resident.h - the anonymous memory that is committed, in bytes.
 */
#ifndef MT_TESTS_RESIDENT_H
#define MT_TESTS_RESIDENT_H

#include <stddef.h>

static inline size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	size_t kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %zu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib << 10;
}

#endif
