/*
 * record/linker.h - the place in a dynamic linker where whoever maps a file through it can wait.
 *
 * Dynamic linkers call _dl_debug_state(), which does nothing, for debuggers: when files have been
 * mapped and none of their code has run.
 */
#ifndef MT_LINKER_H
#define MT_LINKER_H

struct mt_probe;

/*
 * 0 and the place, if the file at fd is a dynamic linker that no program calls mmap() of: in one
 * that is the C library too (musl's) code is mapped without coming by. -ENOENT: it is not;
 * -MT_E_NOT_ELF, -errno.
 */
int mt_linker_find(int fd, struct mt_probe *ret_probe);

#endif
