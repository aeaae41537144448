#!/bin/bash
# Every stack of real recordings has the frames that libunwind and libdw find in its bytes.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# same NAME: compare_unwind is content with run.mt.
same()
{
	if compare_unwind -v run.mt >compare.txt 2>&1; then
		ok "$1: frames as the oracles have them"
	else
		tail -n 60 compare.txt | sed 's/^/    /'
		not_ok "$1: frames as the oracles have them"
	fi
	sed -n "s/^\(libunwind\|libdw\|[0-9]* stacks\)/note $1: &/p" compare.txt
}

# equal_at_least NAME PERCENT: so many stacks are equal, not merely explained.
equal_at_least()
{
	local oracle stacks equal

	stacks=$(sed -n 's/^\([0-9]*\) stacks, .*/\1/p' compare.txt)
	for oracle in libunwind libdw; do
		equal=$(sed -n "s/^$oracle: \([0-9]*\) same frames\$/\1/p" compare.txt)
		is "$1: $2 % of the stacks equal $oracle's" \
			"$((${equal:-0} * 100 >= $2 * ${stacks:-0} && ${stacks:-0} > 0))" 1
	done
}

PATH=$(dirname "$WORKLOADS")/oracle:$PATH

cat >work.py <<'EOF'
import json, re, subprocess
text = json.dumps([{"name": "n%d" % i, "v": [i / 7] * 5} for i in range(500)])
words = re.findall(r"[a-z]\d+", json.dumps(json.loads(text)))
subprocess.run(["/bin/true"], check=True)
print(len(words))
EOF
record python3 /usr/bin/python3 -I work.py
same python3
equal_at_least python3 99

record sqlite3 sqlite3 -batch :memory: \
	'create table t(a, b); insert into t values (1, 2), (3, 4); select sum(a) from t;'
same sqlite3
equal_at_least sqlite3 99

mkdir repo
HOME=$PWD git -C repo init -q
record git git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
same git
equal_at_least git 99

printf 'int twice(int x) { return 2 * x; }\n' >work.c
record gcc gcc -O2 -c -o work.o work.c
same gcc
equal_at_least gcc 99

record cpp_nofp "$WORKLOADS/cpp_nofp"
same cpp_nofp
equal_at_least cpp_nofp 99

record threads "$WORKLOADS/threads"
same threads
equal_at_least threads 99

RECORD_OPTIONS='--stack-size 4096' record 'deep, cut' "$WORKLOADS/deep" 1024
same 'deep, cut'
