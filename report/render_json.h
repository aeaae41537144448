/*
 * report/render_json.h - pieces of JSON that several reports share.
 */
#ifndef MT_RENDER_JSON_H
#define MT_RENDER_JSON_H

#include "report/json.h"

struct mt_header;
struct mt_location;
struct mt_module_facts;
struct mt_moment;
struct mt_profile_totals;
struct mt_totals;

/* Members of the object that is open. */
void mt_json_totals(struct mt_json *json, const struct mt_totals *totals);
void mt_json_location(struct mt_json *json, const struct mt_location *location);

/* Whole members. */
/* "between": null if from is NULL. */
void mt_json_member_between(struct mt_json *json, const struct mt_moment *from,
			    const struct mt_moment *until);
void mt_json_member_command(struct mt_json *json, const struct mt_header *header);
/*
 * "sampled", and "sampling": null if every allocation is there. totals: of which events were taken.
 */
void mt_json_member_sampling(struct mt_json *json, const struct mt_header *header,
			     const struct mt_profile_totals *totals);
void mt_json_member_strings(struct mt_json *json, const char *key, const char *const *strings,
			    size_t n);
/* Array element. */
void mt_json_module(struct mt_json *json, const struct mt_module_facts *facts, bool contents);

/* "exit_status" and "signal" of what wait(2) reports: one of them null, both if it is not known. */
void mt_json_member_exit(struct mt_json *json, bool known, int32_t status);

#endif
