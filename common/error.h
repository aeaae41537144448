/*
 * common/error.h - error codes callers branch on, beyond errno.
 *
 * Functions return 0 or a negative code: -errno, or -MT_E_*. The MT_E_* codes
 * lie above every errno, so that one int carries both.
 */
#ifndef MT_ERROR_H
#define MT_ERROR_H

#define MT_ERRORS(X) \
	X(EMPTY, "the file is empty") \
	X(NOT_ARTIFACT, "not an mt-record artifact") \
	X(NEWER_FORMAT, "written in a newer format than this program reads") \
	X(CUT, "the file is cut") \
	X(SHORTENED, "somebody else has shortened the file") \
	X(CORRUPT, "the data is damaged") \
	X(LIMIT, "a length is over its limit") \
	X(FILE_GONE, "the file is gone") \
	X(FILE_CHANGED, "the file is not the one that was mapped") \
	X(BUILD_ID, "the build-id differs") \
	X(NOT_ELF, "not an ELF file") \
	X(NO_DATA, "the file has no such data")

enum mt_error {
	MT_E_FIRST = 4096,
#define X(name, text) MT_E_##name,
	MT_ERRORS(X)
#undef X
};

/* Text for a code, negative or positive. Never NULL; static or strerror()'s. */
const char *mt_strerror(int err);

#endif
