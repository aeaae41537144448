/*
 * report/reader_spool.h - input that cannot be read at will, in a file that can.
 */
#ifndef MT_READER_SPOOL_H
#define MT_READER_SPOOL_H

/*
 * Copy what fd gives until its end into a temporary file without a name, in TMPDIR or /tmp. That
 * file, the caller's to close, or -errno. fd stays the caller's. SIGINT is ignored while it is a
 * pipe that is read.
 */
int mt_reader_spool(int fd);

#endif
