#include "record/preflight.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

static char line[MT_PREFLIGHT_MAX];

static void explain(int err, const char *log, bool fentry)
{
	memset(line, '\n', sizeof(line));
	mt_preflight_explain(err, log, fentry, line);
	cr_assert_not_null(memchr(line, '\0', sizeof(line)));
	cr_assert_null(strchr(line, '\n'), "not one line: %s", line);
	/* With the reason comes what to do, and nothing is cut off. */
	cr_assert_not_null(strchr(line, ';') ?: strchr(line, '('), "%s", line);
	cr_assert_lt(strlen(line), sizeof(line) - 1);
}

static void expect_says(const char *words)
{
	cr_expect_not_null(strstr(line, words), "'%s' is not in: %s", words, line);
}

static void expect_no_word_of(const char *words)
{
	cr_expect_null(strstr(line, words), "'%s' is in: %s", words, line);
}

Test(preflight, a_refusal_is_explained_by_the_place)
{
	explain(-EPERM, "", false);
	expect_says("cannot load the BPF programs: Operation not permitted (nothing logged)");
	expect_says("container, lockdown or seccomp");
	expect_says("as root");
	explain(-EACCES, "libbpf: something", false);
	expect_says("cannot load the BPF programs: Permission denied;");
	expect_says("container, lockdown or seccomp");
	expect_no_word_of("nothing logged");
}

Test(preflight, no_memory_is_explained_by_the_rings)
{
	explain(-ENOMEM, "libbpf: map 'ring': failed to create: -12\n", false);
	expect_says("Cannot allocate memory");
	expect_says("--ring-size");
	expect_says("--stack-ring-size");
	expect_no_word_of("lockdown");
}

Test(preflight, a_verifiers_log_is_told_from_a_refusal)
{
	static const char log[] = "libbpf: prog 'p': BPF program load failed: -13\n"
		"0: R1=ctx() R10=fp0\ninvalid access to map value\n"
		"processed 12 insns (limit 1000000) max_states_per_insn 0\n";

	explain(-EACCES, log, false);
	expect_says("BPF verifier refuses a program: Permission denied");
	expect_says("-v shows its words");
	expect_no_word_of("lockdown");
	/* Only where it stands as the verifier's last line. */
	explain(-EACCES, "libbpf: processed 1 file\n", false);
	expect_no_word_of("verifier");
}

Test(preflight, a_way_to_watch_that_was_asked_for_is_named)
{
	explain(-ENOENT, "whatever\nprocessed 12 insns\n", true);
	expect_says("--watch fentry does not work here: No such file or directory");
	expect_says("--watch auto");
	expect_no_word_of("verifier");
}

Test(preflight, anything_else_is_left_to_the_kernels_words)
{
	explain(-EINVAL, "libbpf: something\n", false);
	expect_says("cannot load the BPF programs: Invalid argument;");
	expect_says("-v shows what the kernel said");
	expect_no_word_of("--ring-size");
	expect_no_word_of("lockdown");
}

Test(preflight, a_user_without_capabilities_is_told_which)
{
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	cr_expect_eq(mt_preflight(line), -EPERM);
	expect_says("CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_KILL;");
	expect_says("sudo mt-record");
	cr_expect_null(strchr(line, '\n'));
}
