/*
 * report/elide.h - the names of functions, read as C++ and Rust write them: shortened to fit a
 * line, and told apart by who wrote the function.
 *
 * Names come from files: nothing is taken for granted about their brackets or their length.
 */
#ifndef MT_ELIDE_H
#define MT_ELIDE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The name in at most max bytes (at least 16), with std::string for what that stands for. If
 * it does not fit, the innermost <...> and (...) are left out first, then those further out,
 * and at last its middle.
 * free() the text. NULL only out of memory.
 */
char *mt_elide(const char *name, size_t max);

/*
 * Is this a function of the language's own library: of namespaces std and __gnu_cxx, and of
 * Rust's alloc, core and std? linkage: its name in the file, or NULL; only a Rust one makes
 * alloc and core such, as anyone's C++ may use them.
 */
bool mt_is_library_function(const char *function, const char *linkage);

#endif
