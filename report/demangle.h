/*
 * report/demangle.h - names as their authors wrote them: C++ and Rust.
 */
#ifndef MT_DEMANGLE_H
#define MT_DEMANGLE_H

#define MT_MANGLED_MAX 65536u		/* longer names stay as they are */
#define MT_DEMANGLED_MAX (1u << 20)	/* so do names that would grow beyond this */

/*
 * The demangled form of name, the caller's to free; NULL if name is not mangled, is
 * damaged, or exceeds a limit above, and should then be shown as it is. Never cut. Rust's
 * legacy names lose the hash at their end, v0 names the crates' disambiguators.
 */
char *mt_demangle(const char *name);

#endif
