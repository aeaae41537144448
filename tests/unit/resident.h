/*
 * tests/unit/resident.h - memory that the test's process has, in bytes.
 */
#ifndef MT_TESTS_RESIDENT_H
#define MT_TESTS_RESIDENT_H

#include <stddef.h>
#ifdef __SANITIZE_ADDRESS__
/* gcc's library has it, without compiler-rt's header sanitizer/allocator_interface.h. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

/* A line of /proc/self/status, such as "VmHWM". */
static inline size_t status_bytes(const char *name)
{
	FILE *file = fopen("/proc/self/status", "re");
	size_t len = strlen(name), kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && sscanf(line + len, ": %zu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib << 10;
}

/* Anonymous memory that is committed. */
static inline size_t resident_bytes(void)
{
	return status_bytes("RssAnon");
}

/* The most of it at one time since the process began. */
static inline size_t highest_bytes(void)
{
	return status_bytes("VmHWM") - status_bytes("RssFile") - status_bytes("RssShmem");
}

/*
 * The same for what is allocated and freed in large pieces: the address sanitizer keeps freed ones
 * committed, up to 256 MB, to catch their use.
 */
static inline size_t held_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return resident_bytes();
#endif
}

#endif
