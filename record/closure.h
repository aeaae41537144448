/*
 * record/closure.h - the files a command will map when it is executed.
 *
 * Its interpreters, its dynamic linker and the libraries ld.so(8) would load at start. A best
 * guess, made so that probes are in place before the command runs: a file that is missed stops
 * the command for a moment later, one too many costs nothing.
 */
#ifndef MT_CLOSURE_H
#define MT_CLOSURE_H

typedef void (*mt_closure_fn)(void *arg, const char *path);

/*
 * Each file once. command is looked up in PATH as execvp(3) does; the environment is this
 * process's. 0 or -ENOMEM.
 */
int mt_closure_each(const char *command, mt_closure_fn fn, void *arg);

#endif
