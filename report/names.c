#include "report/names.h"

#include <errno.h>

struct mt_names {
	struct {
		const struct mt_location *locations;
		size_t n;
	} *calls;
};

int mt_names_load(mt_name_fn name, void *arg, const struct mt_paths *paths,
		  struct mt_names **ret_names)
{
	uint32_t n = mt_paths_calls(paths), i;
	struct mt_names *names = calloc(1, sizeof(*names));
	int err = -ENOMEM;

	if (!names)
		return -ENOMEM;
	names->calls = calloc((size_t)n + 1, sizeof(*names->calls));
	if (!names->calls)
		goto out;
	for (i = 0; i < n; i++) {
		err = name(arg, &mt_paths_call(paths, i)->frame, &names->calls[i].locations,
			   &names->calls[i].n);
		if (err)
			goto out;
	}
	*ret_names = names;
	return 0;

out:
	mt_names_free(names);
	return err;
}

void mt_names_free(struct mt_names *names)
{
	if (!names)
		return;
	free(names->calls);
	free(names);
}

const struct mt_location *mt_names_of(const struct mt_names *names, uint32_t call, size_t *ret_n)
{
	*ret_n = names->calls[call].n;
	return names->calls[call].locations;
}
