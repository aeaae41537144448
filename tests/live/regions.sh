#!/bin/bash
# --mmap: each call of mmap, munmap, mremap and brk that took effect is an event, by whomever.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

RECORD_OPTIONS='--mmap' record regions "$WORKLOADS/map_calls"
mt-report dump --json run.mt >dump.txt
# From the program's first call on: what is before it is the dynamic linker's.
/usr/bin/python3 - <<'EOF2' >counts.txt
import json
events = [json.loads(line) for line in open("dump.txt")]
events = [e for e in events if e["type"] in ("mmap", "munmap", "mremap", "brk")]
# The first of the program's own maps one page that nobody may touch, and is left mapped.
first = next(i for i, e in enumerate(events)
             if (e["type"], e["size"], e.get("prot"), e.get("flags")) == ("mmap", 4096, 0, 0x22))
live, peak, kinds = {}, 0, {}
start = set()
heap = None
for e in events[first:]:
    kinds[e["type"]] = kinds.get(e["type"], 0) + 1
    pages = range(e["addr"] // 4096, (e["addr"] + e["size"] + 4095) // 4096)
    if e["type"] == "mmap":
        start.update(pages)
    elif e["type"] == "munmap":
        start.difference_update(pages)
    elif e["type"] == "mremap":
        old = e["old_addr"] // 4096
        start.difference_update(range(old, old + (e["old_size"] + 4095) // 4096))
        start.update(pages)
    else:
        heap = heap if heap is not None else e["old_size"]
        start.difference_update(range(e["addr"] // 4096, (e["addr"] + max(e["size"], e["old_size"])) // 4096))
        start.update(range((e["addr"] + heap) // 4096, (e["addr"] + e["size"]) // 4096))
    peak = max(peak, len(start))
print(" ".join(f"{k}={kinds.get(k, 0)}" for k in ("mmap", "munmap", "mremap", "brk")),
      "live=%d peak=%d" % (len(start) * 4096, peak * 4096))
EOF2
is 'regions: calls, and what is mapped when they are replayed' "$(cat counts.txt)" \
	"$(/usr/bin/python3 -c 'import json; s = json.load(open("out.txt")); print(" ".join(f"{k}={s[k]}" for k in ("mmap", "munmap", "mremap", "brk")), "live=%d peak=%d" % (s["live"], s["peak"]))')"
holds 'regions: no part of the heap' '(s["allocations"], s["allocated_bytes"], s["peak_bytes"], s["conflicts"], 0) == (0, 0, 0, 0, 0)'

RECORD_OPTIONS='' record 'off' "$WORKLOADS/map_calls"
holds 'off: no event' '(s["events"], 0)'

# An allocator's own calls are events besides its calls, of which each is as without them.
RECORD_OPTIONS='--mmap' record 'with an allocator' "$WORKLOADS/malloc_10007"
account 'with an allocator' allocations allocated_bytes frees live_blocks live_bytes peak_blocks peak_bytes
holds 'with an allocator: its own calls' \
	's["events_by_type"]["brk"] > 0 and s["events_by_type"]["mmap"] > 5'
holds 'with an allocator: every stack is complete' '(s["stacks"]["complete"], s["stacks"]["definitions"])'
RECORD_OPTIONS='--mmap' record python3 /usr/bin/python3 -Ic 'import json, mmap
m = [mmap.mmap(-1, 65536) for i in range(31)]
m[0].resize(131072)
for x in m[:29]: x.close()
print(len(json.dumps([{"a": "x" * 100}] * 20000)))'
is 'python3: output' "$(cat out.txt)" 2220000
mt-report dump --json run.mt | jq -r 'select(.type == "mmap" and .size == 65536 and .anonymous and .flags == 33) | .type' >maps.txt
is 'python3: what it maps itself' "$(wc -l <maps.txt)" 31
is 'python3: files are told from memory' "$(mt-report dump --json run.mt |
	jq -r 'select(.type == "mmap" and (.anonymous | not)) | .prot' | sort -u | grep -c 5)" 1
holds 'python3: one mremap' '(s["events_by_type"]["mremap"] >= 1)'
