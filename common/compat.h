/*
 * common/compat.h - included before everything else in every C file (by -include).
 *
 * Unbounded string functions are compile errors here, after the libc headers
 * that declare them.
 */
#ifndef MT_COMPAT_H
#define MT_COMPAT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#pragma GCC poison sprintf vsprintf strcpy strcat strtok gets

#define MT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#endif
