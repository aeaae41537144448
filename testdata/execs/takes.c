/*
 * takes.c [NAME [SECONDS]] - takes 101 blocks and says its name, without a library that would take
 * more, and lives on for some time. Built in every way a program can be linked.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void *take(void)
{
	void *volatile block = malloc(77);

	return block;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	int i;

	for (i = 0; i < 101; i++)
		if (!take())
			return 1;
	name = argc > 1 ? argv[1] : name ? name + 1 : argv[0];
	if (write(1, name, strlen(name)) < 0 || write(1, "\n", 1) < 0)
		return 1;
	return argc > 2 ? (int)sleep(atoi(argv[2])) : 0;
}
