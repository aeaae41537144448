"""placements.py TRUTH FILE.profile: every placement the program told of is in the profile folder,
in each list, and no other of those files and processes."""
import json
import os
import sys


def main():
    meta = json.load(open(os.path.join(sys.argv[2], "memtrack.metadata")))
    keys = {path: key for key, path in meta["path_key_to_path"].items()}
    want = {}
    for line in open(sys.argv[1]):
        truth = json.loads(line)
        want.setdefault((str(truth["pid"]), truth["path"]), []).append(truth)
    bad = []
    for name, key_name in (("mapped_process_unwind_data_by_pid", "unwind_data_key"),
                           ("mapped_process_module_symbols", "perf_map_key"),
                           ("mapped_process_debug_info_by_pid", "debug_info_key")):
        paths = {path for pid, path in want}
        have = {}
        for pid, entries in meta[name].items():
            for entry in entries:
                path = meta["path_key_to_path"][entry[key_name]]
                if path in paths:
                    have.setdefault((pid, path), []).append(entry)
        for where in sorted(set(want) | set(have)):
            some, all_ = have.get(where, []), want.get(where, [])
            if len(some) != len(all_):
                bad.append("%s: %s: %d placements, not %d" % (name, where, len(some), len(all_)))
                continue
            for entry, truth in zip(some, all_):
                base = entry.get("load_bias", entry.get("base_avma"))
                if (entry["avma_range"] != {"start": truth["start"], "end": truth["end"]} or
                        base != truth["base"] or
                        not truth["after"] < entry["timestamp"] < truth["before"]):
                    bad.append("%s: %s: %s, not %s" % (name, where, entry, truth))
    for path in {path for pid, path in want}:
        if path not in keys:
            bad.append("%s is not in the folder" % path)
    print("\n".join(bad) if bad else "%d placements" % sum(map(len, want.values())))
    return bool(bad)


sys.exit(main())
