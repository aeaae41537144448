#!/bin/bash
# Programs as Debian ships them: stacks that fit into the budget reach the thread's first
# frame, at least 99 of 100.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# status NAME GOT: 1 and a line that says so if any stack is incomplete, cut by the budget or not.
status()
{
	if grep -q 'of stacks are incomplete: ' report.err; then
		is "$1: status of the report" "$2" 1
		one_line "$1: one line says why" <(grep -v 'the profile folder is' report.err)
		holds "$1: there are such stacks" \
			's["stacks"]["complete"] < s["stacks"]["definitions"]'
	else
		is "$1: status of the report" "$2" 0
		holds "$1: all stacks are complete" \
			'(s["stacks"]["allocations"]["complete"] + s["stacks"]["allocations"]["no_stack"], s["allocations"])'
	fi
}

# complete NAME
complete()
{
	holds "$1: 99 % of the stacks are complete" \
		's["stacks"]["complete"] * 100 >= 99 * (s["stacks"]["definitions"] - s["stacks"]["truncated"])'
	holds "$1: there are stacks" 's["stacks"]["definitions"] > 1'
	local before after

	before=$(date +%s%N)
	mt-report symbolize run.mt >report.txt 2>report.err
	status "$1" $?
	after=$(date +%s%N)
	# For people who read the log.
	/usr/bin/python3 - "$1" $(((after - before) / 1000000)) <<-'PY'
		import json, os, sys
		s = json.load(open("stat.json"))
		k = s["stacks"]
		fit = k["definitions"] - k["truncated"]
		print(f"note {sys.argv[1]}: {s['events']} events, {k['definitions']} stacks, "
		      f"{k['truncated']} cut, {100 * k['complete'] / max(fit, 1):.2f} % of the others "
		      f"complete, {os.path.getsize('run.mt')} bytes, report in {sys.argv[2]} ms")
	PY
}

cat >work.py <<'EOF'
import json, re, random
random.seed(7)
rows = [{"name": "n%d" % random.randrange(1000), "v": [random.random() for _ in range(5)]}
        for _ in range(2000)]
text = json.dumps(rows)
back = json.loads(text)
back.sort(key=lambda r: (r["name"], r["v"]))
words = re.findall(r"[a-z]\d+", text)
print(len(back), len(words))
EOF
record python3 /usr/bin/python3 -I work.py
is 'python3: output' "$(cat out.txt)" '2000 2000'
complete python3

cat >work.sql <<'EOF'
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000)
insert into t select x, 'row ' || (x * 7919 % 5000) from c;
create index i on t(b);
select count(*), min(b), max(b) from t where b like 'row 1%';
EOF
record sqlite3 sqlite3 -batch :memory: '.read work.sql'
is 'sqlite3: output' "$(cat out.txt)" '1111|row 1|row 1999'
complete sqlite3

export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
	GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' \
	GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'
mkdir repo
git -C repo init -q -b main
for i in $(seq 30); do
	seq "$i" $((i * 20)) >"repo/file$((i % 5))"
	git -C repo add -A
	git -C repo commit -q -m "change $i"
done
record git git -C repo --no-pager log -p --stat
is 'git: output' "$(grep -c '^commit' out.txt)" 30
complete git

# Deep stacks that hardly repeat: some 700 MB of them in a second or two.
RECORD_OPTIONS='--stack-ring-size 1G' record clang \
	clang -O2 -c -o work.o "$TOP/testdata/workloads/families.c"
complete clang

record cpp_nofp "$WORKLOADS/cpp_nofp"
is 'cpp_nofp: output' "$(tail -n 1 out.txt)" '20 bad lines'
complete cpp_nofp
is 'cpp_nofp: all calls are below main or before it' \
	"$(($(folded count ';main;') + $(folded count '(_dl_init|call_init|_dl_start|_dl_relocate|_exit|exit)')))" \
	"$(folded count .)"
is 'cpp_nofp: names are demangled' "$(folded count 'shop::Index::add' | awk '{ print ($1 > 1000) }')" 1
valgrind --tool=dhat --dhat-out-file=/dev/null "$WORKLOADS/cpp_nofp" >/dev/null 2>dhat.txt
is 'cpp_nofp: total as DHAT counts it' "$(/usr/bin/python3 "$LIVE/dhat.py" stat.json dhat.txt)" same
heaptrack -o ht "$WORKLOADS/cpp_nofp" >/dev/null 2>&1
heaptrack_print -f ht.* >ht.txt 2>/dev/null
is 'cpp_nofp: calls as heaptrack counts them' \
	"$(sed -n 's/^calls to allocation functions: \([0-9]*\).*/\1/p' ht.txt)" \
	"$(/usr/bin/python3 -c 'import json; print(json.load(open("stat.json"))["allocations"])')"

# The budget: a stack deeper than it is cut and says so, one that fits is complete.
record 'deep, fits' "$WORKLOADS/deep" 64
account 'deep, fits' allocations allocated_bytes peak_bytes
complete 'deep, fits'
is 'deep: 64 frames are 64 frames' "$(mt-report folded --by count run.mt 2>/dev/null |
	awk '{ n = gsub(/descend/, ""); if (n > max) max = n } END { print max }')" 64
record 'deep, cut' "$WORKLOADS/deep" 4096
account 'deep, cut' allocations allocated_bytes
holds 'deep, cut: cut stacks are counted' 's["stacks"]["truncated"] >= 3'
RECORD_OPTIONS='--stack-size 4096' record 'deep, small budget' "$WORKLOADS/deep" 64
holds 'deep, small budget: cut' 's["stacks"]["truncated"] >= 1'

# Nothing but the budget in the way: what is cut is told, and makes the report partial.
RECORD_OPTIONS='--stack-size 64' record budget "$WORKLOADS/malloc_10007"
mt-report folded --by count run.mt >folded.txt 2>report.err
is 'budget: status' $? 1
one_line 'budget: one line says why' report.err
matches 'budget: names reason and cure' report.err \
	'^mt-report: [0-9.]+ % of stacks are incomplete: [0-9.]+ % truncated at 64 bytes \(record with a larger --stack-size\)$'
mt-report stat --json run.mt >stat.json 2>stat.err
is 'budget: status of stat' $? 1
holds 'budget: stat says so' 's["partial"] and s["stacks"]["truncated"] > 0'
