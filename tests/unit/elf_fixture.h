/*
 * tests/unit/elf_fixture.h - real ELF files for tests, built in a scratch folder from testdata/elf.
 *
 * Tests run from the top of the tree. Each test process has its own folder, removed by
 * elf_fixture_end().
 */
#ifndef ELF_FIXTURE_H
#define ELF_FIXTURE_H

#include "report/session.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static char fixture_dir[64];

static inline void elf_fixture_begin(void)
{
	snprintf(fixture_dir, sizeof(fixture_dir), "/tmp/mt-elf-XXXXXX");
	cr_assert_not_null(mkdtemp(fixture_dir));
}

/* Run a shell command; %D in none of it: use $D for the scratch folder, $S for testdata/elf. */
__attribute__((format(printf, 1, 2))) static inline void run(const char *fmt, ...)
{
	char text[2048], command[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(command, sizeof(command), "D=%s; S=testdata/elf; unset ASAN_OPTIONS; set -e; %s",
		 fixture_dir, text);
	cr_assert_eq(system(command), 0, "failed: %s", command);
}

static inline void elf_fixture_end(void)
{
	run("rm -rf \"$D\"");
}

/* A path in the scratch folder; one of four buffers in turn. */
static inline const char *in_dir(const char *name)
{
	static char path[4][128];
	static unsigned int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", fixture_dir, name);
	return path[turn];
}

/* What a recording would say of the file at path now. path is borrowed. */
static inline struct mt_file file_at(const char *path)
{
	struct mt_file file = { .path = path };
	struct stat st;

	cr_assert_eq(stat(path, &st), 0, "no %s", path);
	file.dev_major = major(st.st_dev);
	file.dev_minor = minor(st.st_dev);
	file.ino = st.st_ino;
	return file;
}

/* First line of a command's output. */
__attribute__((format(printf, 1, 2))) static inline const char *output_of(const char *fmt, ...)
{
	static char line[4096];
	char text[2048], command[4096];
	va_list args;
	FILE *pipe;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(command, sizeof(command), "D=%s; %s", fixture_dir, text);
	pipe = popen(command, "r");
	cr_assert_not_null(pipe);
	line[0] = 0;
	if (!fgets(line, sizeof(line), pipe))
		line[0] = 0;
	pclose(pipe);
	line[strcspn(line, "\n")] = 0;
	return line;
}

static inline void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

static inline uint8_t *read_file(const char *path, size_t *ret_n)
{
	struct stat st;
	uint8_t *bytes;
	int fd = open(path, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	bytes = malloc(st.st_size + 1);
	cr_assert_not_null(bytes);
	cr_assert_eq(read(fd, bytes, st.st_size), st.st_size);
	close(fd);
	*ret_n = st.st_size;
	return bytes;
}

#endif
