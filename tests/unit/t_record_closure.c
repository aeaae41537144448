#include "record/closure.h"
#include "record/ld_cache.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#define PATHS_MAX 512

static char *paths[PATHS_MAX];
static size_t n_paths;

static void take(void *arg, const char *path)
{
	(void)arg;
	cr_assert_lt(n_paths, PATHS_MAX);
	paths[n_paths++] = strdup(path);
}

static bool has(const char *path)
{
	char *real = realpath(path, NULL);
	bool found = false;
	size_t i;

	cr_assert_not_null(real, "%s", path);
	for (i = 0; i < n_paths && !found; i++)
		found = strcmp(paths[i], real) == 0;
	free(real);
	return found;
}

static void forget(void)
{
	while (n_paths)
		free(paths[--n_paths]);
}

static void setup(void)
{
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("LD_PRELOAD");
	setenv("PATH", "/usr/bin:/bin", 1);
}

TestSuite(closure, .init = setup, .fini = forget);

/* Every file that ldd names, "name => path (addr)" or "path (addr)". */
static void expect_ldd(const char *program)
{
	char command[PATH_MAX + 16], line[PATH_MAX], *path, *end;
	FILE *out;
	int n = 0;

	snprintf(command, sizeof(command), "ldd %s", program);
	out = popen(command, "r");
	cr_assert_not_null(out);
	while (fgets(line, sizeof(line), out)) {
		path = strchr(line, '/');
		end = path ? strstr(path, " (0x") : NULL;
		if (!end)
			continue;
		*end = '\0';
		cr_assert(has(path), "%s of %s", path, program);
		n++;
	}
	cr_assert_geq(n, 2);
	cr_assert_eq(pclose(out), 0);
}

Test(closure, holds_what_ldd_lists)
{
	static const char *const programs[] = { "git", "python3", "perl", "clang", "ls" };
	char program[64];
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(programs); i++) {
		cr_assert_eq(mt_closure_each(programs[i], take, NULL), 0);
		snprintf(program, sizeof(program), "/usr/bin/%s", programs[i]);
		cr_assert(has(program));
		expect_ldd(program);
		forget();
	}
}

static void shell(const char *command)
{
	cr_assert_eq(system(command), 0, "%s", command);
}

Test(closure, follows_scripts_search_paths_and_preloads)
{
	char dir[] = "/tmp/t_closure.XXXXXX", command[64];

	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	shell("mkdir a b c && echo 'int f(void){return 1;}' >f.c &&"
	      "echo 'int f(void); int main(void){return f();}' >m.c &&"
	      "cc -shared -fPIC f.c -Wl,-soname,libone.so -o a/libone.so &&"
	      "cp a/libone.so c/libthree.so &&"
	      "cc m.c -La -lone -Wl,-rpath,'$ORIGIN/a' -o new &&"
	      "cc m.c -La -lone -Wl,-rpath,'${ORIGIN}/a' -Wl,--disable-new-dtags -o old &&"
	      "cc -shared -fPIC f.c -Wl,-soname,libtwo.so -o b/libtwo.so &&"
	      "cc m.c -Lb -ltwo -o bare &&"
	      "printf '#!/usr/bin/env perl\\n1;\\n' >script && chmod +x script");

	cr_assert_eq(mt_closure_each("./new", take, NULL), 0);
	cr_expect(has("a/libone.so"));
	forget();
	cr_assert_eq(mt_closure_each("./old", take, NULL), 0);
	cr_expect(has("a/libone.so"));
	forget();
	cr_assert_eq(mt_closure_each("./bare", take, NULL), 0);
	cr_expect_not(has("b/libtwo.so"));
	forget();
	setenv("LD_LIBRARY_PATH", "b", 1);
	setenv("LD_PRELOAD", "c/libthree.so", 1);
	cr_assert_eq(mt_closure_each("./bare", take, NULL), 0);
	cr_expect(has("b/libtwo.so"));
	cr_expect(has("c/libthree.so"));
	forget();
	cr_assert_eq(mt_closure_each("./script", take, NULL), 0);
	cr_expect(has("/usr/bin/env"));
	cr_expect(has("/usr/bin/perl"));
	forget();
	cr_assert_eq(mt_closure_each("no-such-command", take, NULL), 0);

	unsetenv("LD_PRELOAD");
	cr_assert_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	shell(command);
}

/* Of two libraries of one name, the 32-bit one is passed over: wherever it is looked for. */
Test(closure, passes_over_what_32_bit_programs_load)
{
	char dir[] = "/tmp/t_closure.XXXXXX", command[64];
	size_t i;

	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	shell("mkdir 32 64 && echo 'int f(void){return 1;}' >f.c &&"
	      "echo 'int f(void); int main(void){return f();}' >m.c &&"
	      "cc -shared -fPIC f.c -Wl,-soname,libone.so -o 64/libone.so &&"
	      "(head -c 4 64/libone.so; printf '\\001'; tail -c +6 64/libone.so) >32/libone.so &&"
	      "cc m.c -L64 -lone -o bare");
	setenv("LD_LIBRARY_PATH", "32:64", 1);
	setenv("LD_PRELOAD", "./32/libone.so", 1);
	cr_assert_eq(mt_closure_each("./bare", take, NULL), 0);
	cr_expect(has("64/libone.so"));
	cr_expect_not(has("32/libone.so"));
	for (i = 0; i < n_paths; i++)
		cr_expect_null(strstr(paths[i], "/lib32/"), "%s", paths[i]);

	unsetenv("LD_PRELOAD");
	cr_assert_eq(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	shell(command);
}

Test(closure, a_damaged_cache_is_refused_or_harmless)
{
	char path[] = "/tmp/t_closure.XXXXXX";
	char bytes[72] = "glibc-ld.so.cache1.1";
	struct mt_ld_cache *cache;
	uint32_t offset = UINT32_MAX;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	bytes[20] = 2;	/* two entries, room for one */
	cr_assert_eq(pwrite(fd, bytes, sizeof(bytes), 0), (ssize_t)sizeof(bytes));
	cr_assert_eq(mt_ld_cache_open(path, &cache), -EINVAL);
	bytes[20] = 1;
	memcpy(bytes + 48 + 4, &offset, 4);
	memcpy(bytes + 48 + 8, &offset, 4);
	cr_assert_eq(pwrite(fd, bytes, sizeof(bytes), 0), (ssize_t)sizeof(bytes));
	cr_assert_eq(mt_ld_cache_open(path, &cache), 0);
	cr_assert_null(mt_ld_cache_find(cache, "libc.so.6", 0));
	mt_ld_cache_free(cache);
	cr_assert_eq(ftruncate(fd, 47), 0);
	cr_assert_eq(mt_ld_cache_open(path, &cache), -EINVAL);
	close(fd);
	unlink(path);
}
