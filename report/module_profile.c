#include "report/module_profile.h"

#include "common/error.h"
#include "report/module_file.h"
#include "report/module_impl.h"
#include "report/profile_read.h"
#include "report/session.h"

bool mt_module_profile_take(struct mt_module *module, const struct mt_file *file,
			    const struct mt_profile_modules *profile, uint8_t **ret_memory,
			    size_t *ret_size)
{
	const struct mt_profile_module *found =
		mt_profile_modules_find(profile, file->build_id, file->n_build_id);
	int err;

	if (!found)
		return false;
	err = mt_profile_module_image(profile, found, ret_memory, ret_size);
	if (err) {
		module->status = MT_MODULE_UNREADABLE;
		snprintf(module->reason, sizeof(module->reason), "%.40s in the profile folder: %s",
			 found->key, mt_strerror(err));
		return true;
	}
	module->status = MT_MODULE_VERIFIED;
	module->profile = found;
	return true;
}

void mt_module_profile_refuse(struct mt_module *module, const struct mt_file *file,
			      const struct mt_profile_modules *profile)
{
	const struct mt_profile_module *named = mt_profile_modules_named(profile, file->path);
	char reason[MT_REASON_MAX];

	if (!named || !file->n_build_id ||
	    mt_module_file_id_fits(file, named->build_id, named->n_build_id, reason))
		return;
	module->status = MT_MODULE_CHANGED;
	if (snprintf(module->reason, sizeof(module->reason), "profile folder: %s", reason) >=
	    (int)sizeof(module->reason))
		memcpy(module->reason, reason, sizeof(reason));
}

const struct mt_profile_module *mt_module_profile(const struct mt_module *module)
{
	return module->profile;
}
