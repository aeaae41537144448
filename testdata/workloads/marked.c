/*
 * marked.c - sends commands to its recorder between allocations of known sizes.
 *
 *	marked COMMANDS ANSWERS [enable] [kill]
 *
 * The FIFOs are those of --control. "enable" is sent first; "kill" kills the recorder at the end.
 * Sizes tell what was allocated where: see tests/live/control.sh. Between marks nothing else
 * allocates.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OLD 101
#define THREADS 4
#define EACH 503
#define UNSEEN 701

static int commands, answers;
static void *old[OLD], *shared[THREADS][EACH], *unseen[UNSEEN];
static pthread_barrier_t barrier;

static void must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "marked: %s\n", what);
	exit(1);
}

static void command(const char *line)
{
	char answer[256];
	size_t len = strlen(line), n = 0;

	must(write(commands, line, len) == (ssize_t)len, "cannot write a command");
	while (n < sizeof(answer) && read(answers, answer + n, 1) == 1 && answer[n] != '\n')
		n++;
	must(n == 3 && !memcmp(answer, "ack", 3), line);
}

static void *run(void *arg)
{
	void **mine = arg;
	int i;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < EACH; i++)
		mine[i] = malloc(2000);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < EACH; i++) {
		free(mine[i]);
		mine[i] = malloc(2500);
	}
	pthread_barrier_wait(&barrier);
	/* So that a thread's end frees nothing between marks. */
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void while_disabled(void)
{
	volatile size_t too_much = -4096;
	int i;

	for (i = 0; i < UNSEEN; i++)
		unseen[i] = malloc(3000);
	for (i = 0; i < 51; i++)
		free(old[i]);
	for (i = 51; i < 61; i++)
		old[i] = realloc(old[i], 5000);
	for (i = 0; i < 7; i++)
		unseen[i] = realloc(unseen[i], 5000);
	unseen[7] = realloc(unseen[7], 1);
	must(!realloc(unseen[8], too_much), "realloc of too much");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
}

static void after_it(void)
{
	int i;

	for (i = 0; i < UNSEEN; i++)
		free(unseen[i]);
	for (i = 51; i < 61; i++)
		free(old[i]);
	for (i = 0; i < 13; i++)
		must(malloc(7000) != NULL, "malloc");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int i;

	must(argc > 2, "usage: marked COMMANDS ANSWERS [enable] [kill]");
	commands = open(argv[1], O_WRONLY);
	answers = open(argv[2], O_RDONLY);
	must(commands >= 0 && answers >= 0, "cannot open the FIFOs");
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		must(!pthread_create(&threads[i], NULL, run, shared[i]), "pthread_create");
	if (argc > 3 && !strcmp(argv[3], "enable"))
		command("enable\n");

	for (i = 0; i < OLD; i++)
		old[i] = malloc(1000);
	command("mark one\n");
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	command("mark two\n");
	command("disable\n");
	while_disabled();
	command("enable\n");
	after_it();
	command("mark three\n");
	command("mark three\n");
	for (i = 0; i < 17; i++)
		must(malloc(9000) != NULL, "malloc");
	command("mark three\n");
	command("ping\n");
	if (!strcmp(argv[argc - 1], "kill"))
		kill(getppid(), SIGKILL);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
