/* The files behind what a process is about to execute; here it is this one, and its memory. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/mt_ring.h"
#include "record/executed.h"

static char folder[] = "/tmp/mt-executed-XXXXXX";
static char own[PATH_MAX];
static struct stat told[8];
static size_t n_told;

static void tell(void *arg, int fd)
{
	(void)arg;
	cr_assert_lt(n_told, 8);
	cr_assert_eq(fstat(fd, &told[n_told++]), 0);
}

static void setup(void)
{
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	cr_assert_gt(n, 0);
	own[n] = '\0';
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void teardown(void)
{
	static const char *const names[] = { "script", "first", "second", "loop", "pipe", "text" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(names); i++)
		unlink(names[i]);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(record_executed, .init = setup, .fini = teardown, .timeout = 60);

static int each(const void *name, uint64_t at)
{
	struct mt_ring_exec_request request = {
		.request.pid = (uint32_t)getpid(), .name = (uintptr_t)name, .folder = at,
	};

	n_told = 0;
	return mt_executed_each(&request, tell, NULL);
}

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "we");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

/* Told of this program, and then of its linker. */
static void is_this_program(int err)
{
	struct stat st;

	cr_assert_eq(err, 0, "%s", strerror(-err));
	cr_assert_eq(n_told, 2);
	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	cr_expect_eq(told[0].st_ino, st.st_ino);
	cr_expect_neq(told[1].st_ino, st.st_ino);
}

Test(record_executed, a_name_from_the_root)
{
	is_this_program(each(own, MT_EXEC_CWD));
	is_this_program(each("/proc/self/exe", MT_EXEC_CWD));
}

Test(record_executed, a_name_relative_to_a_folder)
{
	char *slash = strrchr(own, '/');
	int fd;

	*slash = '\0';
	fd = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	is_this_program(each(slash + 1, (uint64_t)fd));
	cr_expect_eq(each(slash + 1, MT_EXEC_CWD), -ENOENT);
	cr_assert_eq(chdir(own), 0);
	is_this_program(each(slash + 1, MT_EXEC_CWD));
	is_this_program(each(slash + 1, (uint32_t)AT_FDCWD));
	cr_assert_eq(chdir(folder), 0);
	close(fd);
}

Test(record_executed, an_open_file)
{
	char name[32];
	int fd = open(own, O_PATH | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	is_this_program(each(NULL, (uint64_t)fd));
	is_this_program(each("", (uint64_t)fd));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	is_this_program(each(name, MT_EXEC_CWD));
	close(fd);
	cr_expect_lt(each(NULL, (uint64_t)fd), 0);
	cr_expect_lt(each("", MT_EXEC_CWD), 0);
	cr_expect_eq(n_told, 0);
}

Test(record_executed, what_scripts_lead_to)
{
	char line[PATH_MAX + 32];

	snprintf(line, sizeof(line), "#! \t%s an argument\nexit 1\n", own);
	write_file("script", line);
	is_this_program(each("script", MT_EXEC_CWD));
	write_file("first", "#!./second");
	write_file("second", "#!script\n");
	is_this_program(each("./first", MT_EXEC_CWD));
}

Test(record_executed, scripts_that_lead_nowhere)
{
	write_file("loop", "#!./loop\n");
	cr_expect_eq(each("./loop", MT_EXEC_CWD), -ENOEXEC);
	write_file("script", "#! \n");
	cr_expect_eq(each("./script", MT_EXEC_CWD), -ENOEXEC);
	write_file("script", "#!./absent\n");
	cr_expect_eq(each("./script", MT_EXEC_CWD), -ENOENT);
	cr_expect_eq(n_told, 0);
}

Test(record_executed, nothing_that_is_no_program)
{
	char longest[PATH_MAX + 2];

	write_file("text", "echo\n");
	cr_expect_eq(each("text", MT_EXEC_CWD), -ENOEXEC);
	cr_expect_eq(each("absent", MT_EXEC_CWD), -ENOENT);
	cr_expect_eq(each("text/absent", MT_EXEC_CWD), -ENOTDIR);
	cr_expect_eq(each(folder, MT_EXEC_CWD), -EACCES);
	cr_expect_eq(each("/dev/null", MT_EXEC_CWD), -EACCES);
	cr_assert_eq(mkfifo("pipe", 0600), 0);
	cr_expect_eq(each("pipe", MT_EXEC_CWD), -EACCES, "and not waited for");
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	cr_expect_eq(each(longest, MT_EXEC_CWD), -ENAMETOOLONG);
	cr_expect_eq(n_told, 0);
}

/* A name may end with the memory it is in, and may have no end. */
Test(record_executed, a_name_at_the_end_of_memory)
{
	size_t page = sysconf(_SC_PAGESIZE), len = strlen(own) + 1;
	char *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert(at != MAP_FAILED);
	cr_assert_eq(munmap(at + page, page), 0);
	cr_assert_lt(len, page);
	memcpy(at + page - len, own, len);
	is_this_program(each(at + page - len, MT_EXEC_CWD));
	at[page - 1] = 'a';
	cr_expect_eq(each(at + page - len, MT_EXEC_CWD), -EFAULT);
	cr_expect_eq(each((void *)8, MT_EXEC_CWD), -EFAULT);
	munmap(at, page);
}
