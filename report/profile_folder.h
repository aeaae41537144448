/*
 * report/profile_folder.h - memtrack.metadata and the files beside it; memtrack.metadata(5).
 *
 * Written to a temporary folder beside the target and renamed into place, so that a reader never
 * sees half of one. Same input, same bytes.
 */
#ifndef MT_PROFILE_FOLDER_H
#define MT_PROFILE_FOLDER_H

struct mt_session;
struct mt_symbolizer;

/*
 * Write the folder dir. A folder that is there already is replaced if it is empty or a
 * profile folder (has memtrack.metadata); of the latter only files of a profile are removed,
 * what else was in it stays in the new one. Integration names NULL: ["mt-report", version].
 * 0; -ENOTEMPTY: dir is another folder; -ENOTDIR: dir is no folder; -errno: the folder that is to
 * hold it is missing or read-only, the disk is full.
 */
int mt_profile_folder_write(const char *dir, struct mt_session *session,
			    struct mt_symbolizer *symbolizer, const char *integration_name,
			    const char *integration_version);

#endif
