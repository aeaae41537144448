#include "report/reader_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPOOL_STEP (64u << 10)

static int open_temporary(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd, n;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	n = snprintf(path, sizeof(path), "%s/mt-report.XXXXXX", dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

static int spool(int from, int to)
{
	uint8_t bytes[SPOOL_STEP];
	ssize_t n, done, w;

	for (;;) {
		n = read(from, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (done = 0; done < n; done += w) {
			w = write(to, bytes + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR)
				return -errno;
			w = w < 0 ? 0 : w;
		}
	}
}

/*
 * An interrupt from the terminal reaches the recorder at the other end of a pipe too: it finishes
 * the recording, which is then to be reported on.
 */
static int spool_pipe(int from, int to)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;
	int err;

	sigaction(SIGINT, &ignore, &before);
	err = spool(from, to);
	sigaction(SIGINT, &before, NULL);
	return err;
}

int mt_reader_spool(int fd)
{
	struct stat st;
	int copy, err;

	if (fstat(fd, &st))
		return -errno;
	copy = open_temporary();
	if (copy < 0)
		return copy;
	err = S_ISFIFO(st.st_mode) ? spool_pipe(fd, copy) : spool(fd, copy);
	if (err) {
		close(copy);
		return err;
	}
	return copy;
}
