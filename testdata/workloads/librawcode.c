/*
 * librawcode.c - functions with the names of an allocator's that work wherever their file is
 * mapped; rawcode.c maps it by hand and calls them. malloc(n) gives n << 20.
 */
#if defined(__x86_64__)
#define MALLOC "mov %rdi, %rax\n\tshl $20, %rax\n\tret\n"
#elif defined(__aarch64__)
#define MALLOC "lsl x0, x0, #20\n\tret\n"
#endif

/* rawcode.c looks for the marks, each 16 bytes. */
__asm__(".text\n"
	".balign 16\n"
	"	.ascii \"rawcode: malloc\\n\"\n"
	"	.globl malloc\n"
	"	.type malloc, %function\n"
	"malloc:\n"
	"	" MALLOC
	"	.size malloc, . - malloc\n"
	".balign 16\n"
	"	.ascii \"rawcode: free()\\n\"\n"
	"	.globl free\n"
	"	.type free, %function\n"
	"free:\n"
	"	nop\n"
	"	ret\n"
	"	.size free, . - free\n");
