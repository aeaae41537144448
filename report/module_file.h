/*
 * report/module_file.h - finding the files a module is made of, without looking inside.
 *
 * Verification by (dev, ino) comes first and needs no contents; module.c parses what
 * this returns.
 */
#ifndef MT_MODULE_FILE_H
#define MT_MODULE_FILE_H

#include "report/module.h"

/*
 * Open file->path for reading if it is the recorded file. MT_MODULE_VERIFIED: *ret_fd is
 * the caller's, and *ret_written says whether it has been written to since. Anything else: reason
 * says what was found and what was recorded.
 */
enum mt_module_status mt_module_file_open(const struct mt_file *file,
					  const struct mt_module_options *options, int *ret_fd,
					  bool *ret_written, char reason[MT_REASON_MAX]);

/*
 * Open what is at file->path below sysroot, links in it followed as if sysroot were the root. What
 * it is, its contents must prove; file->n_build_id is not 0 if MT_MODULE_VERIFIED.
 */
enum mt_module_status mt_module_file_open_below(const char *sysroot, const struct mt_file *file,
						int *ret_fd, char reason[MT_REASON_MAX]);

/* Is this the noted build-id? false: reason says which one would fit. */
bool mt_module_file_id_fits(const struct mt_file *file, const uint8_t *id, size_t n, char *reason);

/*
 * Copy this process's vDSO if the kernel is the recorded one. MT_MODULE_VERIFIED: *ret_image is
 * the caller's to free.
 */
enum mt_module_status mt_module_file_vdso(const char *kernel, uint8_t **ret_image,
					  size_t *ret_size, char reason[MT_REASON_MAX]);

/*
 * Open path for reading with sysroot as the root of it and of the links in it: the descriptor, or
 * -errno. Never blocks.
 */
int mt_module_file_open_in(const char *sysroot, const char *path);

/* Is a file's time after this many ns since 1970? */
struct timespec;
bool mt_module_file_is_after(const struct timespec *time, uint64_t ns);

/* Open path for reading if it is a regular file: the descriptor, or -errno. Never blocks. */
int mt_module_file_open_regular(const char *path);

/* CRC-32 of the whole file as .gnu_debuglink has it. */
int mt_module_file_crc(int fd, uint32_t *ret_crc);

/* DIR/.build-id/xx/yyyy.debug. 0 or -ENAMETOOLONG. */
int mt_module_file_build_id_path(const char *debug_dir, const uint8_t *id, size_t id_len,
				 char *path, size_t size);

/*
 * The index-th place to look for the debug file called name by a .gnu_debuglink of
 * module_path. 0, -ENAMETOOLONG, or -ENOENT past the last.
 */
int mt_module_file_link_path(const char *debug_dir, const char *module_path, const char *name,
			     unsigned int index, char *path, size_t size);

#endif
