#include "report/render_json.h"

#include "common/artifact.h"
#include "report/aggregate.h"
#include "report/mark_facts.h"
#include "report/module_facts.h"
#include "report/symbolize.h"

#include <sys/wait.h>

void mt_json_totals(struct mt_json *json, const struct mt_totals *totals)
{
	mt_json_member_u64(json, "allocations", totals->allocations);
	mt_json_member_u64(json, "allocated_bytes", totals->allocated_bytes);
	mt_json_member_u64(json, "frees", totals->frees);
	mt_json_member_u64(json, "peak_bytes", totals->peak_bytes);
	mt_json_member_u64(json, "peak_blocks", totals->peak_blocks);
	mt_json_member_u64(json, "live_bytes", totals->live_bytes);
	mt_json_member_u64(json, "live_blocks", totals->live_blocks);
	mt_json_member_u64(json, "temporary", totals->temporary);
}

void mt_json_location(struct mt_json *json, const struct mt_location *location)
{
	mt_json_member_string(json, "function", location->function);
	mt_json_member_string(json, "module", location->module);
	mt_json_member_u64(json, "offset", location->offset);
}

static void put_moment(struct mt_json *json, const char *key, const struct mt_moment *moment)
{
	mt_json_key(json, key);
	mt_json_object_begin(json);
	mt_json_member_string(json, "name", moment->name);
	mt_json_member_u64(json, "nth", moment->nth);
	mt_json_member_u64(json, "time", moment->time);
	mt_json_object_end(json);
}

void mt_json_member_between(struct mt_json *json, const struct mt_moment *from,
			    const struct mt_moment *until)
{
	mt_json_key(json, "between");
	if (!from) {
		mt_json_null(json);
		return;
	}
	mt_json_object_begin(json);
	put_moment(json, "from", from);
	put_moment(json, "until", until);
	mt_json_object_end(json);
}

void mt_json_member_command(struct mt_json *json, const struct mt_header *header)
{
	mt_json_member_strings(json, "command", header->args, header->n_args);
	mt_json_member_u64_or_null(json, "attached_pid", header->attached_pid);
}

void mt_json_member_sampling(struct mt_json *json, const struct mt_header *header,
			     const struct mt_profile_totals *totals)
{
	static const char *const estimated[] = {
		"allocations", "allocated_bytes", "frees", "peak_bytes", "peak_blocks",
		"live_bytes", "live_blocks", "discarded_bytes", "discarded_blocks",
	};
	static const char *const unknown[] = {
		"temporary", "inherited_frees", "disabled_frees", "thread_cache_frees",
	};

	mt_json_member_bool(json, "sampled", header->sample_bytes != 0);
	mt_json_key(json, "sampling");
	if (!header->sample_bytes) {
		mt_json_null(json);
		return;
	}
	mt_json_object_begin(json);
	mt_json_member_u64(json, "bytes", header->sample_bytes);
	mt_json_member_u64(json, "allocations", mt_allocations_taken(totals));
	mt_json_member_strings(json, "estimated", estimated, MT_ARRAY_SIZE(estimated));
	mt_json_member_strings(json, "unknown", unknown, MT_ARRAY_SIZE(unknown));
	mt_json_object_end(json);
}

void mt_json_member_strings(struct mt_json *json, const char *key, const char *const *strings,
			    size_t n)
{
	size_t i;

	mt_json_key(json, key);
	mt_json_array_begin(json);
	for (i = 0; i < n; i++)
		mt_json_string(json, strings[i]);
	mt_json_array_end(json);
}

void mt_json_module(struct mt_json *json, const struct mt_module_facts *facts, bool contents)
{
	mt_json_object_begin(json);
	mt_json_member_string(json, "path", facts->path);
	mt_json_member_u64(json, "dev_major", facts->dev_major);
	mt_json_member_u64(json, "dev_minor", facts->dev_minor);
	mt_json_member_u64(json, "ino", facts->ino);
	mt_json_key(json, "build_id");
	if (facts->n_build_id)
		mt_json_bytes(json, facts->build_id, facts->n_build_id);
	else
		mt_json_null(json);
	mt_json_member_string(json, "status", mt_module_status_name(facts->status));
	if (*facts->reason)
		mt_json_member_string(json, "reason", facts->reason);
	if (facts->copied)
		mt_json_member_bool(json, "copied", true);
	if (contents) {
		mt_json_member_bool(json, "symbols", facts->symbols);
		mt_json_member_bool(json, "lines", facts->lines);
		if (*facts->debug_path)
			mt_json_member_string(json, "debug_file", facts->debug_path);
		mt_json_member_u64(json, "calls", facts->calls);
		mt_json_member_u64(json, "calls_unnamed", facts->unnamed);
		mt_json_member_u64(json, "calls_without_line", facts->unlocated);
		if (facts->package)
			mt_json_member_string(json, "package", facts->package);
	}
	mt_json_object_end(json);
}

void mt_json_member_exit(struct mt_json *json, bool known, int32_t status)
{
	mt_json_key(json, "exit_status");
	if (known && WIFEXITED(status))
		mt_json_i64(json, WEXITSTATUS(status));
	else
		mt_json_null(json);
	mt_json_key(json, "signal");
	if (known && WIFSIGNALED(status))
		mt_json_i64(json, WTERMSIG(status));
	else
		mt_json_null(json);
}
