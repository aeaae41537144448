#!/bin/bash
# --mmap: each call of mmap, munmap, mremap and brk that took effect is an event, by whomever.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# among EXPRESSION: of how many events, e, it is true.
among()
{
	mt-report dump --json run.mt | /usr/bin/python3 -c '
import collections, json, sys
print(sum(bool(eval(sys.argv[1], {"e": collections.defaultdict(int, json.loads(line))}))
          for line in sys.stdin))' "$1"
}

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

# What mt-report makes of them, against a replay of every event, page by page.
as_replayed()
{
	mt-report dump --json run.mt >dump.txt
	/usr/bin/python3 - <<'EOF2' >replayed.txt
import collections, json
spaces, process_of = collections.defaultdict(set), {}
count = total = peak = kept = discarded = frees = 0
def pages(start, size):
    return range(start // 4096, (start + size + 4095) // 4096)
for line in open("dump.txt"):
    e = json.loads(line)
    kind, here = e["type"], spaces[e["pid"]] if "pid" in e else set()
    if kind == "exec":
        discarded += len(here)
        here.clear()
    elif kind == "exit":
        kept += len(here)
        here.clear()
    elif kind in ("mmap", "mremap"):
        if kind == "mremap":
            here.difference_update(pages(e["old_addr"], e["old_size"]))
        here.update(pages(e["addr"], e["size"]))
        count, total = count + 1, total + len(pages(e["addr"], e["size"]))
    elif kind == "munmap":
        here.difference_update(pages(e["addr"], e["size"]))
        frees += 1
    elif kind == "brk":
        before, now = e["addr"] + e["old_size"] + 4095, e["addr"] + e["size"] + 4095
        more = range(before // 4096, now // 4096)
        here.update(more)
        here.difference_update(range(now // 4096, before // 4096))
        count, total = count + bool(more), total + len(more)
        frees += now // 4096 < before // 4096
    peak = max(peak, sum(map(len, spaces.values())))
kept += sum(map(len, spaces.values()))
print(count, total * 4096, frees, peak * 4096, kept * 4096, discarded * 4096)
EOF2
	holds "$1: reported as replayed" '(" ".join(str(s["mapped"][k]) for k in
		("allocations", "allocated_bytes", "frees", "peak_bytes", "live_bytes",
		 "discarded_bytes")), open("replayed.txt").read().strip())'
	is "$1: stacks add up" "$(for by in bytes count peak live; do
		mt-report folded --events mmap --by $by run.mt | awk '{ n += $NF } END { printf "%d ", n }'
	done)" "$(awk '{ print $2, $1, $4, $5, "" }' replayed.txt)"
}
as_replayed regions
is 'regions: by whom' "$(mt-report folded --events mmap --by count run.mt |
	awk '/;main;use_[a-z]*;map;/ { m += $NF } /;remap;/ { r += $NF } END { print m, r }')" \
	"$(/usr/bin/python3 -c 'import json; s = json.load(open("out.txt")); print(s["mmap"] - 1, s["mremap"])')"
# Seven calls unmap, one of them 67 times.
is 'regions: who unmaps' "$(/usr/bin/python3 - <<'EOF2'
import collections, json
events = [json.loads(line) for line in open("dump.txt")]
first = next(i for i, e in enumerate(events) if e.get("size") == 4096 and e.get("flags") == 0x22
             and e["prot"] == 0)
of = collections.Counter(e.get("stack") for e in events[first:] if e["type"] == "munmap")
print(None in of, len(of) >= 7, max(of.values()) <= 67,
      sum(of.values()) == json.load(open("out.txt"))["munmap"])
EOF2
)" 'False True True True'
holds 'regions: every stack is complete' '(s["stacks"]["complete"], s["stacks"]["definitions"])'

RECORD_OPTIONS='' record 'off' "$WORKLOADS/map_calls"
holds 'off: no event' '(s["events"], 0)'

# An allocator's own calls are events besides its calls, of which each is as without them.
RECORD_OPTIONS='--mmap' record 'with an allocator' "$WORKLOADS/malloc_10007"
account 'with an allocator' allocations allocated_bytes frees live_blocks live_bytes peak_blocks peak_bytes
holds 'with an allocator: its own calls' \
	's["events_by_type"]["brk"] > 0 and s["events_by_type"]["mmap"] > 3'
as_replayed 'with an allocator'
holds 'with an allocator: every stack is complete' '(s["stacks"]["complete"], s["stacks"]["definitions"])'
RECORD_OPTIONS='--mmap' record python3 /usr/bin/python3 -Ic 'import json, mmap
m = [mmap.mmap(-1, 65536) for i in range(31)]
m[0].resize(131072)
for x in m[:29]: x.close()
print(len(json.dumps([{"a": "x" * 100}] * 20000)))'
is 'python3: output' "$(cat out.txt)" 2220000
is 'python3: what it maps itself' \
	"$(among 'e["type"] == "mmap" and e["size"] == 65536 and e["anonymous"] and e["flags"] == 33')" 31
is 'python3: files are told from memory' \
	"$(($(among 'e["type"] == "mmap" and not e["anonymous"] and e["prot"] == 5') > 1))" 1
holds 'python3: one mremap' '(s["events_by_type"]["mremap"] >= 1)'
as_replayed python3

# Processes: what a fork copies is its own, and exec lets go of everything.
# shellcheck disable=SC2016 # for the inner shell
RECORD_OPTIONS='--mmap' record tree sh -c '"$0"; /usr/bin/python3 -Ic "import mmap, os
m = mmap.mmap(-1, 1 << 20)
if os.fork() == 0:
    m.close(); os._exit(0)
os.wait(); m.close()"' "$WORKLOADS/map_calls"
holds 'tree: the copy is given back too' '(s["mapped"]["inherited_frees"] > 0)'

# While recording is disabled, only what gives memory back is an event.
RECORD_OPTIONS='--mmap --control fifo:ctl,ack' record paused /usr/bin/python3 -Ic 'import mmap, os
ctl, ack = open("ctl", "w", buffering=1), open("ack")
def say(what):
    ctl.write(what + "\n")
    ack.readline()
before = [mmap.mmap(-1, 1236 << 12) for i in range(7)]
say("disable")
unseen = [mmap.mmap(-1, 1237 << 12) for i in range(5)]
for m in before[:3] + unseen[:2]: m.close()
before[3].resize(1238 << 12)
say("enable")
for m in unseen[2:4]: m.close()
after = [mmap.mmap(-1, 1239 << 12) for i in range(2)]
os._exit(0)'
sized() { among "e['type'] == '$1' and e['size'] == $2"; }
is 'paused: before' "$(sized mmap $((1236 << 12)))" 7
is 'paused: nothing is mapped' "$(sized mmap $((1237 << 12))) $(sized mremap $((1238 << 12)))" '0 0'
is 'paused: what is given back' "$(sized munmap $((1236 << 12))) $(sized munmap $((1237 << 12)))" '4 4'
is 'paused: afterwards' "$(sized mmap $((1239 << 12)))" 2
holds 'paused: told apart' 's["mapped"]["disabled_frees"] >= 2 and s["mapped"]["unmatched_frees"] >= 2'

# Musl's threads that nobody waits for unmap their own stack, and have none then.
if [ "$(uname -m)" = x86_64 ]; then
	cat >own_stack.c <<'EOF2'
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_attr_t attr;
	struct stat tasks;
	pthread_t thread;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 1237 * 4096);
	for (i = 0; i < 13; i++) {
		if (pthread_create(&thread, &attr, nothing, 0))
			return 1;
		/* A link for each thread. */
		while (!stat("/proc/self/task", &tasks) && tasks.st_nlink > 3)
			usleep(1000);
	}
	return munmap(mmap(0, 7919 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		      7919 * 4096);
}
EOF2
	musl-gcc -O2 -g -o own_stack own_stack.c
	RECORD_OPTIONS='--mmap' record 'own stack' ./own_stack
	is 'own stack: unmapped without a stack, all others with theirs' "$(
		among 'e["type"] == "munmap" and e["size"] >> 12 == 7919 and e["stack"]'
		among 'e["type"] == "munmap" and e["size"] >> 12 in range(1237, 1250) and not e["stack"]'
		among 'e["type"] == "munmap" and not e["stack"]')" "$(printf '1\n13\n13')"
fi
