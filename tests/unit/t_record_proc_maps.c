#include "record/proc_maps.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* A name with blanks must come back whole. */
static char path[] = "/tmp/t_record_proc maps  XXXXXX";
static size_t page;
static int file = -1;
static struct stat file_stat;
static void *mapped = MAP_FAILED;

static void setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	file = mkstemp(path);
	cr_assert_geq(file, 0);
	cr_assert_eq(fchmod(file, 0644), 0);
	cr_assert_eq(ftruncate(file, 4 * page), 0);
	cr_assert_eq(pwrite(file, "code", 4, page), 4);
	cr_assert_eq(fstat(file, &file_stat), 0);
	/* Pages 1 and 2 as code; page 0 is not. */
	mapped = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, page);
	cr_assert_neq(mapped, MAP_FAILED);
}

static void teardown(void)
{
	munmap(mapped, 2 * page);
	close(file);
	unlink(path);
}

struct search {
	uint64_t start;
	bool found;
	struct mt_proc_map map;
	char path[PATH_MAX];
	unsigned int n;
	uint64_t last_end;
};

static int look(void *arg, const struct mt_proc_map *map)
{
	struct search *search = arg;

	search->n++;
	cr_expect_geq(map->start, search->last_end, "not in address order");
	cr_expect_gt(map->end, map->start);
	search->last_end = map->end;
	if (map->start != search->start)
		return 0;
	search->found = true;
	search->map = *map;
	cr_assert_lt(strlen(map->path), sizeof(search->path));
	memcpy(search->path, map->path, strlen(map->path) + 1);
	search->map.path = search->path;
	return 0;
}

static void find(const void *address, struct search *ret_search)
{
	memset(ret_search, 0, sizeof(*ret_search));
	ret_search->start = (uintptr_t)address;
	cr_assert_eq(mt_proc_maps_each(getpid(), look, ret_search), 0);
}

static bool on_overlay(int fd)
{
	struct statfs fs;

	cr_assert_eq(fstatfs(fd, &fs), 0);
	return fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

Test(proc_maps, a_mapping_is_told_as_it_was_made, .init = setup, .fini = teardown)
{
	struct search search;

	find(mapped, &search);
	cr_assert(search.found);
	cr_expect_gt(search.n, 1, "no code of our own and of libc?");
	cr_expect_eq(search.map.end - search.map.start, 2 * page);
	cr_expect_eq(search.map.offset, page);
	cr_expect_str_eq(search.path, path);
	/* An overlay shows the file below. */
	if (!on_overlay(file)) {
		cr_expect_eq(search.map.ino, file_stat.st_ino);
		cr_expect_eq(search.map.dev_major, major(file_stat.st_dev));
		cr_expect_eq(search.map.dev_minor, minor(file_stat.st_dev));
	}
}

Test(proc_maps, device_and_inode_are_those_of_stat)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	struct search search;
	struct stat st;
	void *code;

	page = sysconf(_SC_PAGESIZE);
	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, page), 0);
	cr_assert_eq(fstat(fd, &st), 0);
	code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	cr_assert_neq(code, MAP_FAILED);
	find(code, &search);
	cr_assert(search.found);
	cr_expect_eq(search.map.ino, st.st_ino);
	cr_expect_eq(search.map.dev_major, major(st.st_dev));
	cr_expect_eq(search.map.dev_minor, minor(st.st_dev));
	cr_expect_str_eq(search.path, "/memfd:code (deleted)");
	munmap(code, page);
	close(fd);
}

Test(proc_maps, only_code_is_told)
{
	struct search search;
	char *area;

	page = sysconf(_SC_PAGESIZE);
	area = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(area, MAP_FAILED);
	find(area, &search);
	cr_expect_not(search.found);
	cr_assert_eq(mprotect(area, page, PROT_READ | PROT_EXEC), 0);
	find(area, &search);
	cr_assert(search.found);
	cr_expect_eq(search.map.end - search.map.start, page);
	cr_expect_eq(search.map.ino, 0);
	cr_expect_str_eq(search.path, "");
	munmap(area, 2 * page);
}

static int stop_at_second(void *arg, const struct mt_proc_map *map)
{
	unsigned int *n = arg;

	(void)map;
	return ++*n == 2 ? -E2BIG : 0;
}

Test(proc_maps, the_callback_can_stop_it)
{
	unsigned int n = 0;

	cr_expect_eq(mt_proc_maps_each(getpid(), stop_at_second, &n), -E2BIG);
	cr_expect_eq(n, 2);
	cr_expect_eq(mt_proc_maps_each(INT_MAX, stop_at_second, &n), -ENOENT);
	cr_expect_eq(n, 2);
}

static void expect_is_the_file(int fd)
{
	struct stat st;
	char text[4];

	cr_assert_geq(fd, 0, "%s", strerror(-fd));
	cr_assert_eq(fstat(fd, &st), 0);
	if (!on_overlay(file)) {
		cr_expect_eq(st.st_ino, file_stat.st_ino);
		cr_expect_eq(st.st_dev, file_stat.st_dev);
	}
	cr_expect_eq(pread(fd, text, sizeof(text), page), 4);
	cr_expect_arr_eq(text, "code", 4);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

/* Another file at the path. The old one is still mapped, so its inode number is not free. */
static void replace_file(void)
{
	int other;

	cr_assert_eq(unlink(path), 0);
	other = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	cr_assert_geq(other, 0);
	close(other);
}

Test(proc_maps, opens_the_mapped_file_whatever_became_of_its_path, .init = setup,
     .fini = teardown)
{
	struct search search;

	if (geteuid() != 0)
		cr_skip_test("map_files is for root");
	find(mapped, &search);
	expect_is_the_file(mt_proc_map_open(getpid(), &search.map));
	replace_file();
	expect_is_the_file(mt_proc_map_open(getpid(), &search.map));
	cr_assert_eq(unlink(path), 0);
	expect_is_the_file(mt_proc_map_open(getpid(), &search.map));
	/* As /proc tells it now: "(deleted)" behind the path. */
	find(mapped, &search);
	expect_is_the_file(mt_proc_map_open(getpid(), &search.map));

	munmap(mapped, 2 * page);
	cr_expect_eq(mt_proc_map_open(getpid(), &search.map), -ESRCH);
}

Test(proc_maps, without_map_files_the_path_must_lead_to_the_same_inode, .init = setup,
     .fini = teardown)
{
	struct search search;
	bool root = geteuid() == 0;

	find(mapped, &search);
	if (on_overlay(file))
		cr_skip_test("inode numbers of an overlay are not those of its mappings");
	if (root)
		cr_assert_eq(seteuid(65534), 0);
	expect_is_the_file(mt_proc_map_open(getpid(), &search.map));
	if (root)
		cr_assert_eq(seteuid(0), 0);
	replace_file();
	if (root)
		cr_assert_eq(seteuid(65534), 0);
	cr_expect_eq(mt_proc_map_open(getpid(), &search.map), -ESTALE);
	if (root)
		cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(unlink(path), 0);
	if (root)
		cr_assert_eq(seteuid(65534), 0);
	cr_expect_eq(mt_proc_map_open(getpid(), &search.map), -ENOENT);
	if (root)
		cr_assert_eq(seteuid(0), 0);
}

/* Between the list and the file's turn, the process may have changed the mapping, or ended. */
Test(proc_maps, changes_meanwhile)
{
	struct search search;
	int fd, status;
	pid_t pid;

	setup();
	find(mapped, &search);
	cr_assert(search.found);
	cr_assert_eq(mprotect(mapped, page, PROT_READ), 0);
	fd = mt_proc_map_open(getpid(), &search.map);
	cr_assert_geq(fd, 0, "one page of two is code still: %d", fd);
	close(fd);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid)
		_exit(0);
	cr_assert_eq(waitid(P_PID, pid, NULL, WEXITED | WNOWAIT), 0);
	cr_expect_eq(mt_proc_map_open(pid, &search.map), -ESRCH, "of a zombie");
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(mt_proc_map_open(pid, &search.map), -ESRCH, "of nobody");
	cr_assert_eq(munmap((char *)mapped + page, page), 0);
	cr_expect_eq(mt_proc_map_open(getpid(), &search.map), -ESRCH, "of what is no code");
	teardown();
}
