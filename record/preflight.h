/*
 * record/preflight.h - why recording cannot work here, as a sentence and a command.
 */
#ifndef MT_PREFLIGHT_H
#define MT_PREFLIGHT_H

#include <stdbool.h>

#define MT_PREFLIGHT_MAX 512

/* What is known to be missing before anything is tried: 0, or -EPERM, -EOPNOTSUPP and one line. */
int mt_preflight(char ret_line[MT_PREFLIGHT_MAX]);

/*
 * Explain why loading failed with err (-errno), in one line; log is libbpf's. fentry: it was
 * asked for by --watch.
 */
void mt_preflight_explain(int err, const char *log, bool fentry, char ret_line[MT_PREFLIGHT_MAX]);

#endif
