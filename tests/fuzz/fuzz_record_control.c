/* Lines of any bytes as commands: what is taken is within its limits, what is not is told. */
#include "record/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void check_printable(const char *text)
{
	for (; *text; text++)
		check(*text >= ' ' && *text < 127);
}

static void check_line(const char *line, size_t len)
{
	struct mt_control_command command;
	char error[MT_CONTROL_ERROR_MAX] = "", *paths[2], *spec;
	int ret = mt_control_parse(line, len, &command, error);

	if (ret < 0) {
		check(strnlen(error, sizeof(error)) < sizeof(error) && *error);
		check_printable(error);
	} else if (ret) {
		check(strnlen(command.name, sizeof(command.name)) <= MT_MARK_NAME_MAX);
		check(!*command.name == (command.kind != MT_CONTROL_MARK));
		check(!strpbrk(command.name, "#\n\r\t"));
	}
	spec = strndup(line, len);
	if (!mt_control_split(spec, &paths[0], &paths[1])) {
		check(*paths[0] && (!paths[1] || *paths[1]));
		free(paths[0]);
		free(paths[1]);
	}
	free(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size, *line;

	for (; at < end; at = line + 1) {
		line = memchr(at, '\n', (size_t)(end - at));
		if (!line)
			line = end;
		check_line(at, (size_t)(line - at));
	}
	return 0;
}
