#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/as_user.h"

struct fifo {
	char *path;	/* NULL: there is none */
	int fd;
	bool made;
};

struct mt_control {
	const struct mt_identity *identity;
	struct fifo commands;
	struct fifo answers;
	char buffer[MT_CONTROL_LINE_MAX + 1];
	size_t used;
	bool too_long;	/* what is left of the line is passed over */
};

static const struct {
	const char *word;
	enum mt_control_kind kind;
} words[] = {
	{ "enable", MT_CONTROL_ENABLE },
	{ "disable", MT_CONTROL_DISABLE },
	{ "mark", MT_CONTROL_MARK },
	{ "ping", MT_CONTROL_PING },
	{ "stop", MT_CONTROL_STOP },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 127;
}

/* What was sent may be anything; an answer is one line of text. */
static int fail(char *error, const char *what, const char *text, size_t len)
{
	char shown[41];
	size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1, i;

	for (i = 0; i < n; i++)
		shown[i] = is_control(text[i]) || text[i] & 0x80 ? '?' : text[i];
	shown[n] = '\0';
	snprintf(error, MT_CONTROL_ERROR_MAX, len ? "%s: '%s'" : "%s", what, shown);
	return -EINVAL;
}

static int parse_name(const char *name, size_t len, char *ret_name, char *error)
{
	size_t i;

	if (!len)
		return fail(error, "mark needs a name", "", 0);
	if (len > MT_MARK_NAME_MAX)
		return fail(error, "the name of a mark has at most 128 bytes", name, len);
	for (i = 0; i < len; i++)
		if (is_control(name[i]) || name[i] == '#')
			return fail(error, "the name of a mark has no control characters and no #",
				    name, len);
	memcpy(ret_name, name, len);
	ret_name[len] = '\0';
	return 1;
}

int mt_control_parse(const char *line, size_t len, struct mt_control_command *ret_command,
		     char error[MT_CONTROL_ERROR_MAX])
{
	struct mt_control_command command = { 0 };
	size_t n, i;
	int ret = 1;

	while (len && is_blank(line[len - 1]))
		len--;
	while (len && is_blank(*line)) {
		line++;
		len--;
	}
	if (!len)
		return 0;
	for (n = 0; n < len && !is_blank(line[n]);)
		n++;
	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (strlen(words[i].word) == n && !memcmp(words[i].word, line, n))
			break;
	if (i == MT_ARRAY_SIZE(words))
		return fail(error, "not one of enable, disable, mark NAME, ping, stop", line, n);
	command.kind = words[i].kind;
	line += n;
	len -= n;
	while (len && is_blank(*line)) {
		line++;
		len--;
	}
	if (command.kind == MT_CONTROL_MARK)
		ret = parse_name(line, len, command.name, error);
	else if (len)
		return fail(error, "only mark takes a name", line, len);
	if (ret > 0)
		*ret_command = command;
	return ret;
}

int mt_control_split(const char *spec, char **ret_commands, char **ret_answers)
{
	const char *path = spec + strlen("fifo:"), *comma;
	char *commands, *answers = NULL;

	if (strncmp(spec, "fifo:", strlen("fifo:")))
		return -EINVAL;
	comma = strchrnul(path, ',');
	if (comma == path || (*comma && (!comma[1] || strchr(comma + 1, ','))))
		return -EINVAL;
	commands = strndup(path, (size_t)(comma - path));
	if (*comma)
		answers = strdup(comma + 1);
	if (!commands || (*comma && !answers)) {
		free(commands);
		free(answers);
		return -ENOMEM;
	}
	*ret_commands = commands;
	*ret_answers = answers;
	return 0;
}

/* Open for both directions, so that neither side's coming and going ends or blocks anything. */
static int open_fifo(void *arg)
{
	struct fifo *fifo = arg;
	struct stat st;
	int fd;

	if (!mkfifo(fifo->path, 0600))
		fifo->made = true;
	else if (errno != EEXIST)
		return -errno;
	if (stat(fifo->path, &st))
		return -errno;
	if (!S_ISFIFO(st.st_mode))
		return -ENOSTR;
	fd = open(fifo->path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode)) {
		close(fd);
		return -ENOSTR;
	}
	return fd;
}

static int open_or_say(struct fifo *fifo, const struct mt_identity *identity, char *error)
{
	if (!fifo->path)
		return 0;
	fifo->fd = mt_as_user(identity, open_fifo, fifo);
	if (fifo->fd >= 0)
		return 0;
	snprintf(error, MT_CONTROL_ERROR_MAX, "--control: %.180s: %s", fifo->path,
		 fifo->fd == -ENOSTR ? "is no FIFO" : strerror(-fifo->fd));
	return fifo->fd;
}

static void close_fifo(struct fifo *fifo, const struct mt_identity *identity)
{
	if (fifo->fd >= 0 && fifo->made)
		mt_remove_as_user(identity, fifo->fd, fifo->path);
	if (fifo->fd >= 0)
		close(fifo->fd);
	free(fifo->path);
}

void mt_control_free(struct mt_control *control)
{
	if (!control)
		return;
	close_fifo(&control->commands, control->identity);
	close_fifo(&control->answers, control->identity);
	free(control);
}

int mt_control_open(const char *spec, const struct mt_identity *identity,
		    struct mt_control **ret_control, char error[MT_CONTROL_ERROR_MAX])
{
	struct mt_control *control = calloc(1, sizeof(*control));
	int err = control ? 0 : -ENOMEM;

	if (!err) {
		control->identity = identity;
		control->commands.fd = control->answers.fd = -1;
		err = mt_control_split(spec, &control->commands.path, &control->answers.path);
	}
	if (err)
		snprintf(error, MT_CONTROL_ERROR_MAX, "--control: %s", strerror(-err));
	if (!err)
		err = open_or_say(&control->commands, identity, error);
	if (!err)
		err = open_or_say(&control->answers, identity, error);
	if (err) {
		mt_control_free(control);
		return err;
	}
	*ret_control = control;
	return 0;
}

int mt_control_fd(const struct mt_control *control)
{
	return control->commands.fd;
}

/* The first line in the buffer; false: it has no end yet. */
static bool take_line(struct mt_control *control, char *line, size_t *ret_len, bool *ret_too_long)
{
	const char *end = memchr(control->buffer, '\n', control->used);
	size_t len = end ? (size_t)(end - control->buffer) : 0;

	if (!end && control->used == sizeof(control->buffer)) {
		control->too_long = true;
		control->used = 0;
	}
	if (!end)
		return false;
	memcpy(line, control->buffer, len);
	control->used -= len + 1;
	memmove(control->buffer, end + 1, control->used);
	*ret_len = len;
	*ret_too_long = control->too_long;
	control->too_long = false;
	return true;
}

/* More into the buffer; false: there is none, or no room. */
static bool read_more(struct mt_control *control)
{
	ssize_t n;

	do
		n = read(control->commands.fd, control->buffer + control->used,
			 sizeof(control->buffer) - control->used);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		control->used += (size_t)n;
	return n > 0;
}

bool mt_control_stop_waits(struct mt_control *control)
{
	struct mt_control_command command;
	char error[MT_CONTROL_ERROR_MAX];
	const char *line, *end, *after;
	bool passed_over;

	while (read_more(control))
		;
	line = control->buffer;
	after = line + control->used;
	passed_over = control->too_long;
	for (; (end = memchr(line, '\n', (size_t)(after - line))); line = end + 1) {
		if (!passed_over &&
		    mt_control_parse(line, (size_t)(end - line), &command, error) > 0 &&
		    command.kind == MT_CONTROL_STOP)
			return true;
		passed_over = false;
	}
	return false;
}

int mt_control_next(struct mt_control *control, struct mt_control_command *ret_command,
		    char error[MT_CONTROL_ERROR_MAX])
{
	char line[sizeof(control->buffer)];
	bool too_long;
	size_t len;
	int ret;

	for (;;) {
		while (take_line(control, line, &len, &too_long)) {
			if (too_long)
				return fail(error, "a command has at most 256 bytes", "", 0);
			ret = mt_control_parse(line, len, ret_command, error);
			if (ret)
				return ret;
		}
		if (!read_more(control))
			return 0;
	}
}

void mt_control_answer(struct mt_control *control, const char *error)
{
	char line[MT_CONTROL_ERROR_MAX + 16];
	int n;

	if (control->answers.fd < 0)
		return;
	n = error ? snprintf(line, sizeof(line), "error: %s\n", error) :
		    snprintf(line, sizeof(line), "ack\n");
	/* Nobody has read for 64 KiB of answers: nobody is there. Lines this short go whole. */
	if (write(control->answers.fd, line, (size_t)n) < 0)
		return;
}
