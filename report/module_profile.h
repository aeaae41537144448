/*
 * report/module_profile.h - a module out of a profile folder; private to the module*.c files.
 */
#ifndef MT_MODULE_PROFILE_H
#define MT_MODULE_PROFILE_H

#include "report/module.h"

/*
 * Is it in the folder, by its build-id? Then the status is set: MT_MODULE_VERIFIED and what is to
 * be freed in *ret_memory, or the reason why that is of no use.
 */
bool mt_module_profile_take(struct mt_module *module, const struct mt_file *file,
			    const struct mt_profile_modules *profile, uint8_t **ret_memory,
			    size_t *ret_size);

/* Of one that is found nowhere: if the folder has another of its name, that is why. */
void mt_module_profile_refuse(struct mt_module *module, const struct mt_file *file,
			      const struct mt_profile_modules *profile);

#endif
