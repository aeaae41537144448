/*
 * record/probe_site.h - where a function's probe costs least.
 *
 * The kernel emulates some instructions at a uprobe (push, nop, relative jumps and calls) and
 * single-steps all others out of line, which costs some fifteen times as much
 * (arch/x86/kernel/uprobes.c). The site moves forward over instructions that leave the
 * argument registers, the stack pointer and the callee-saved registers alone, until one is
 * reached that is emulated: every call passes there, once, with the same arguments.
 */
#ifndef MT_PROBE_SITE_H
#define MT_PROBE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_probe_site {
	uint32_t forward;	/* bytes from the entry */
	bool emulated;		/* the instruction there */
};

/* The site of the function that starts at code[at]; code[0..len) is all that is known around it. */
struct mt_probe_site mt_probe_site_find(const uint8_t *code, size_t len, size_t at);

struct mt_probe;

/*
 * Choose the sites of the probes of one file, open at fd: with move, of those at entries the best
 * ones, and else where they are. A probe that cannot be judged stays where it is. On
 * other architectures all stay, and how they step is not known: arm64 needs no such care.
 */
void mt_probe_sites_choose(int fd, bool move, struct mt_probe *probes, size_t n);

#endif
