/* Functions whose names, addresses and lines the tests of report/ know. */
int calls_data = 7;
int calls_zeroed[64];

__attribute__((noinline)) static int calls_static(int x)
{
	return x * calls_data;		/* line 7 */
}

__attribute__((noinline)) int calls_global(int x)
{
	return calls_static(x + 1) + 1;
}

__attribute__((weak, noinline)) int calls_weak(int x)
{
	return calls_global(x) ^ 3;
}

int calls_alias(int x) __attribute__((alias("calls_global")));
int __calls_alias(int x) __attribute__((alias("calls_global")));

int main(int argc, char **argv)
{
	(void)argv;
	return calls_weak(argc) + calls_alias(argc) + calls_zeroed[argc];
}
