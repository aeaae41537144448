/* common/version.h - one version for both programs. */
#ifndef MT_VERSION_H
#define MT_VERSION_H

#define MT_VERSION "0.1.0"

#endif
