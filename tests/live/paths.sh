#!/bin/bash
# One call path is defined about once, whatever earlier calls have left in its stacks.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# few NAME COMMAND...: at most three definitions a call path, of at most 1 KiB each in the file.
few()
{
	local name=$1

	shift
	record "$name" "$@"
	holds "$name: at most three definitions a call path" \
		's["stacks"]["definitions"] <= 3 * s["stacks"]["distinct"]'
	holds "$name: call paths" 's["stacks"]["distinct"] > 5'
	holds "$name: at most 1 KiB a definition, the events beside them at 8 bytes" \
		"$(stat -c %s run.mt) <= 1024 * s['stacks']['definitions'] + 8 * s['events'] + 65536"
	# For people who read the log.
	/usr/bin/python3 - "$name" "$(stat -c %s run.mt)" <<-'PY'
		import json, sys
		s = json.load(open("stat.json"))
		k = s["stacks"]
		print(f"note {sys.argv[1]}: {k['definitions']} definitions of {k['distinct']} call paths, "
		      f"{k['definitions'] / k['distinct']:.2f} each; {s['events']} events, "
		      f"{sys.argv[2]} bytes")
	PY
}

cat >work.py <<'EOF'
import json, re
for turn in range(20):
    text = json.dumps([{"name": "n%d" % i, "v": [i / 7] * 5} for i in range(400)])
    words = re.findall(r"[a-z]\d+", json.dumps(json.loads(text)))
    words.sort(key=lambda word: (len(word), word))
EOF
few python3 /usr/bin/python3 -I work.py

cat >work.cc <<'EOF'
#include <map>
#include <string>
#include <vector>
int main()
{
	std::map<std::string, std::vector<int>> all;

	all["a"].push_back(1);
	return (int)all.size() - 1;
}
EOF
few clang clang++ -O2 -c work.cc -o work.o

# The plain digest takes what earlier calls left for more paths.
by_path=$(/usr/bin/python3 -c 'import json; print(json.load(open("stat.json"))["stacks"]["definitions"])')
RECORD_OPTIONS='--stack-identity code'
record 'clang by code' clang++ -O2 -c work.cc -o work.o
RECORD_OPTIONS=
holds 'clang by code: more definitions' "s['stacks']['definitions'] > 2 * $by_path"

export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' \
	GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git init -q repo
git -C repo config user.name t
git -C repo config user.email t@example.org
for i in $(seq 60); do
	seq "$i" 3 $((400 + i * 7)) >"repo/file$((i % 5))"
	git -C repo add .
	git -C repo commit -qm "change $i"
done
few git git -C repo --no-pager log -p --stat

cat >work.js <<'EOF'
const all = [];
for (let i = 0; i < 60000; i++)
	all.push({ x: i, s: 'q' + i });
console.log(JSON.parse(JSON.stringify(all)).length);
EOF
few node node work.js

cat >threads.cc <<'EOF'
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
static void work(int turn)
{
	std::map<std::string, std::string> all;

	for (int i = 0; i < 3000; i++) {
		std::ostringstream out;

		out << "key number " << i * turn % 701 << " of a thread";
		all[out.str()] += std::to_string(i);
	}
}
int main()
{
	std::vector<std::thread> threads;

	for (int i = 1; i < 5; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
}
EOF
g++ -O2 -pthread threads.cc -o threads
few threads ./threads
