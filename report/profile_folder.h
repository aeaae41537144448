/*
 * report/profile_folder.h - memtrack.metadata and the files beside it; memtrack.metadata(5).
 *
 * Written to a temporary folder beside the target and renamed into place. Same input,
 * same bytes.
 */
#ifndef MT_PROFILE_FOLDER_H
#define MT_PROFILE_FOLDER_H

struct mt_session;
struct mt_symbolizer;

/* integration NULL: ["mt-report", version]. 0, -errno (folder missing, read-only, full, not ours). */
int mt_profile_folder_write(const char *dir, struct mt_session *session,
			    struct mt_symbolizer *symbolizer, const char *integration_name,
			    const char *integration_version);

#endif
