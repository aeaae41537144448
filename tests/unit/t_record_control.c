#include "record/control.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/target.h"

static const struct mt_identity as_we_are;
static char dir[] = "/tmp/t_record_control.XXXXXX";
static char commands[64], answers[64], spec[160];
static struct mt_control *control;
static struct mt_control_command command;
static char error[MT_CONTROL_ERROR_MAX];

static int parse(const char *line)
{
	error[0] = '\0';
	return mt_control_parse(line, strlen(line), &command, error);
}

Test(control, every_command)
{
	static const struct { const char *line; enum mt_control_kind kind; } good[] = {
		{ "enable", MT_CONTROL_ENABLE }, { "disable", MT_CONTROL_DISABLE },
		{ "ping", MT_CONTROL_PING }, { "stop", MT_CONTROL_STOP },
		{ "  enable\t \r", MT_CONTROL_ENABLE },
	};
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(good); i++) {
		cr_assert_eq(parse(good[i].line), 1);
		cr_expect_eq(command.kind, good[i].kind);
		cr_expect_str_eq(command.name, "");
	}
	cr_assert_eq(parse("mark  a name, caf\xc3\xa9 "), 1);
	cr_expect_eq(command.kind, MT_CONTROL_MARK);
	cr_expect_str_eq(command.name, "a name, caf\xc3\xa9");
	/* perf's own tools send the end of the string as well. */
	cr_assert_eq(mt_control_parse("ping\0", 5, &command, error), 1);
	cr_expect_eq(parse(""), 0);
	cr_expect_eq(parse(" \r"), 0);
}

Test(control, what_is_wrong_is_said_in_one_line)
{
	static const char *const bad[] = {
		"Enable", "enabled", "enable now", "mark", "mark ", "mark a#b", "mark a\tb",
		"mark \x7f", "stop 1", "\033[31m", "\xff\xfe",
	};
	char line[200] = "mark ";
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(bad); i++) {
		cr_expect_eq(parse(bad[i]), -EINVAL, "%s", bad[i]);
		cr_expect_neq(error[0], '\0');
		cr_expect_null(strpbrk(error, "\n\033\xff"), "%s", error);
	}
	memset(line + 5, 'n', 128);
	cr_expect_eq(parse(line), 1);
	line[133] = 'n';
	cr_expect_eq(parse(line), -EINVAL);
}

Test(control, spec)
{
	static const char *const bad[] = {
		"", "a", "fifo:", "fifo:,a", "fifo:a,", "fifo:a,b,c", "fd:3", "FIFO:a",
	};
	char *path, *other;
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(bad); i++)
		cr_expect_eq(mt_control_split(bad[i], &path, &other), -EINVAL, "%s", bad[i]);
	cr_assert_eq(mt_control_split("fifo:/a b", &path, &other), 0);
	cr_expect_str_eq(path, "/a b");
	cr_expect_null(other);
	free(path);
	cr_assert_eq(mt_control_split("fifo:a,b", &path, &other), 0);
	cr_expect_str_eq(path, "a");
	cr_expect_str_eq(other, "b");
	free(path);
	free(other);
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(commands, sizeof(commands), "%s/ctl", dir);
	snprintf(answers, sizeof(answers), "%s/ack", dir);
	snprintf(spec, sizeof(spec), "fifo:%s,%s", commands, answers);
}

static void teardown(void)
{
	mt_control_free(control);
	unlink(commands);
	unlink(answers);
	cr_expect_eq(rmdir(dir), 0);
}

static void setup_open(void)
{
	setup();
	cr_assert_eq(mt_control_open(spec, &as_we_are, &control, error), 0, "%s", error);
}

static void sent(const char *bytes, size_t len)
{
	int fd = open(commands, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}
#define SENT(text) sent(text, sizeof(text) - 1)

static int next(void)
{
	return mt_control_next(control, &command, error);
}

Test(control, fifos_are_made_and_removed, .init = setup_open, .fini = teardown)
{
	struct stat st;

	cr_assert_eq(stat(commands, &st), 0);
	cr_expect(S_ISFIFO(st.st_mode));
	cr_expect_eq(st.st_mode & 0777, 0600);
	mt_control_free(control);
	control = NULL;
	cr_expect_eq(access(commands, F_OK), -1);
	cr_expect_eq(access(answers, F_OK), -1);
}

Test(control, fifos_that_were_there_stay, .init = setup, .fini = teardown)
{
	cr_assert_eq(mkfifo(commands, 0600), 0);
	cr_assert_eq(mt_control_open(spec, &as_we_are, &control, error), 0);
	mt_control_free(control);
	control = NULL;
	cr_expect_eq(access(commands, F_OK), 0);
	cr_expect_eq(access(answers, F_OK), -1);
}

Test(control, what_has_taken_their_place_stays, .init = setup_open, .fini = teardown)
{
	cr_assert_eq(unlink(commands), 0);
	cr_assert_eq(mkfifo(commands, 0600), 0);
	mt_control_free(control);
	control = NULL;
	cr_expect_eq(access(commands, F_OK), 0);
}

Test(control, other_files_are_refused, .init = setup, .fini = teardown)
{
	int fd = open(commands, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	close(fd);
	cr_expect_lt(mt_control_open(spec, &as_we_are, &control, error), 0);
	cr_expect_not_null(strstr(error, "is no FIFO"), "%s", error);
	cr_expect_eq(access(commands, F_OK), 0);
	cr_assert_eq(unlink(commands), 0);
	/* The first one is removed again when the second one cannot be had. */
	cr_assert_eq(mkdir(answers, 0700), 0);
	cr_expect_lt(mt_control_open(spec, &as_we_are, &control, error), 0);
	cr_expect_eq(access(commands, F_OK), -1);
	rmdir(answers);
}

Test(control, lines_of_several_writers, .init = setup_open, .fini = teardown)
{
	cr_expect_eq(next(), 0);
	SENT("mark a\n\nmark b\nen");
	cr_assert_eq(next(), 1);
	cr_expect_str_eq(command.name, "a");
	cr_assert_eq(next(), 1);
	cr_expect_str_eq(command.name, "b");
	cr_expect_eq(next(), 0);
	SENT("able\n");
	cr_assert_eq(next(), 1);
	cr_expect_eq(command.kind, MT_CONTROL_ENABLE);
	cr_expect_eq(next(), 0);
}

Test(control, stop_behind_others, .init = setup_open, .fini = teardown)
{
	char line[MT_CONTROL_LINE_MAX + 1];

	cr_expect(!mt_control_stop_waits(control));
	SENT("mark stop\nping\nsto");
	cr_expect(!mt_control_stop_waits(control));
	SENT("p\n");
	cr_expect(mt_control_stop_waits(control));
	/* Nothing has been taken. */
	cr_assert_eq(next(), 1);
	cr_expect_str_eq(command.name, "stop");
	cr_assert_eq(next(), 1);
	cr_expect_eq(command.kind, MT_CONTROL_PING);
	cr_expect(mt_control_stop_waits(control));
	cr_assert_eq(next(), 1);
	cr_expect_eq(command.kind, MT_CONTROL_STOP);
	cr_expect(!mt_control_stop_waits(control));

	/* The end of a line that is too long is none. */
	memset(line, 'x', sizeof(line));
	sent(line, sizeof(line));
	cr_expect_eq(next(), 0);
	SENT("stop\n");
	cr_expect(!mt_control_stop_waits(control));
	cr_expect_eq(next(), -EINVAL);
}

Test(control, long_lines_are_passed_over, .init = setup_open, .fini = teardown)
{
	char line[3 * MT_CONTROL_LINE_MAX];

	memset(line, 'x', sizeof(line));
	sent(line, sizeof(line));
	cr_expect_eq(next(), 0);
	SENT("\nping\n");
	cr_expect_eq(next(), -EINVAL);
	cr_expect_not_null(strstr(error, "256"), "%s", error);
	cr_assert_eq(next(), 1);
	cr_expect_eq(command.kind, MT_CONTROL_PING);
	/* The longest: blanks count. */
	memset(line, ' ', sizeof(line));
	memcpy(line, "ping", 4);
	line[MT_CONTROL_LINE_MAX] = '\n';
	sent(line, MT_CONTROL_LINE_MAX + 1);
	cr_expect_eq(next(), 1);
	line[MT_CONTROL_LINE_MAX] = ' ';
	line[MT_CONTROL_LINE_MAX + 1] = '\n';
	sent(line, MT_CONTROL_LINE_MAX + 2);
	cr_expect_eq(next(), -EINVAL);
	cr_expect_eq(next(), 0);
}

Test(control, answers, .init = setup_open, .fini = teardown)
{
	char text[64] = "";
	int fd = open(answers, O_RDONLY | O_NONBLOCK | O_CLOEXEC), i;

	mt_control_answer(control, NULL);
	mt_control_answer(control, "no");
	cr_expect_eq(read(fd, text, sizeof(text) - 1), 4 + 10);
	cr_expect_str_eq(text, "ack\nerror: no\n");
	close(fd);
	/* Nobody reads: nothing waits. */
	for (i = 0; i < 100000; i++)
		mt_control_answer(control, NULL);
}
