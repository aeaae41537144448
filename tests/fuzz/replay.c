/*
 * tests/fuzz/replay.c - run a fuzz target over files, without a fuzzer.
 *
 *	fuzz_X [-m ROUNDS] FILE|DIR...
 *
 * Every file is given to the target as it is, cut at lengths up to 4096, and with
 * ROUNDS mutations of a fixed pseudo-random sequence, so that a failure repeats.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (1u << 20)

static unsigned long n_runs;

/* A private copy of exactly size bytes, so that a sanitizer sees every overrun. */
static void run_bytes(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	n_runs++;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void run_mutations(uint8_t *data, size_t size, unsigned long rounds)
{
	static const uint8_t interesting[] = { 0x00, 0x01, 0x7f, 0x80, 0xc0, 0xdc, 0xdf, 0xff };
	uint32_t state = 2463534242u;
	unsigned long round;
	size_t at, k, n;
	uint8_t saved[4];
	size_t where[4];

	for (round = 0; size && round < rounds; round++) {
		n = 1 + next_random(&state) % 4;
		for (k = 0; k < n; k++) {
			at = next_random(&state) % size;
			where[k] = at;
			saved[k] = data[at];
			if (next_random(&state) % 2)
				data[at] ^= 1u << next_random(&state) % 8;
			else
				data[at] = interesting[next_random(&state) % sizeof(interesting)];
		}
		run_bytes(data, size);
		while (k--)
			data[where[k]] = saved[k];
	}
}

static int run_file(const char *path, unsigned long rounds)
{
	uint8_t *data;
	size_t size, cut;
	FILE *in;

	in = fopen(path, "rb");
	data = malloc(INPUT_MAX);
	if (!in || !data) {
		fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
		free(data);
		if (in)
			fclose(in);
		return 1;
	}
	size = fread(data, 1, INPUT_MAX, in);
	fclose(in);

	run_bytes(data, size);
	for (cut = 0; cut < size && cut < 4096; cut++)
		run_bytes(data, cut);
	run_mutations(data, size, rounds);
	free(data);
	return 0;
}

static int run_path(const char *path, unsigned long rounds)
{
	struct dirent *entry;
	struct stat st;
	char *child;
	DIR *dir;
	int err = 0;

	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return run_file(path, rounds);
	dir = opendir(path);
	if (!dir)
		return 1;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&child, "%s/%s", path, entry->d_name) < 0)
			abort();
		err |= run_path(child, rounds);
		free(child);
	}
	closedir(dir);
	return err;
}

int main(int argc, char **argv)
{
	unsigned long rounds = 0;
	int i = 1, err = 0;

	if (argc > 2 && !strcmp(argv[1], "-m")) {
		rounds = strtoul(argv[2], NULL, 10);
		i = 3;
	}
	for (; i < argc; i++)
		err |= run_path(argv[i], rounds);
	printf("%lu inputs\n", n_runs);
	return err || !n_runs;
}
