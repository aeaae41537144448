#include "common/error.h"

const char *mt_strerror(int err)
{
	switch (err < 0 ? -err : err) {
#define X(name, text) case MT_E_##name: return text;
	MT_ERRORS(X)
#undef X
	}
	return strerror(err < 0 ? -err : err);
}
