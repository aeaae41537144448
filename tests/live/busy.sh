#!/bin/bash
# With default options ordinary programs lose nothing, on a busy machine either.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# One path is one definition, whatever happens to memory that is no code: before code was moved,
# and after.
record 'much code' "$WORKLOADS/bigcode"
account 'much code' allocations allocated_bytes frees
holds 'much code: few definitions' 's["stacks"]["definitions"] <= 8'

busy=()
for _ in $(seq $((2 * $(nproc)))); do
	(while :; do :; done) &
	busy+=($!)
done
trap 'kill "${busy[@]}"; tally_end' EXIT

cat >spawn.py <<'EOF'
import json, multiprocessing

def work(_):
    return sum(len(json.loads(json.dumps([{str(j): [j] * 9} for j in range(50)])))
               for i in range(40))

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    with multiprocessing.Pool(6) as pool:
        print(sum(pool.map(work, range(24))))
EOF
record 'python3, processes spawned' /usr/bin/python3 -I spawn.py
is 'python3, processes spawned: output' "$(cat out.txt)" 48000

cat >source.cc <<'EOF'
#include <map>
#include <string>
int main() { std::map<std::string, int> m; m["one"] = 1; return m.size(); }
EOF
record clang clang++ -c source.cc -o source.o
holds 'clang: definitions are shared' \
	's["stacks"]["definitions"] < s["allocations"]'
echo "note clang: $(/usr/bin/python3 -c 'import json
s = json.load(open("stat.json"))
print(s["allocations"], "allocations,", s["stacks"]["definitions"], "definitions")')"
