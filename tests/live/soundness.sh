#!/bin/bash
# Stacks that count as one unwind to the same calls: every capture of five programs is written
# and unwound, and compared within its identity.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

PATH=$(dirname "$WORKLOADS")/oracle:$PATH
captures=0

# sound NAME BUDGET COMMAND...: the budget is what most of the program's stacks take.
sound()
{
	local name=$1 budget=$2 line

	shift 2
	mt-record -q --stack-identity every --stack-size "$budget" --stack-ring-size 128M \
		--pressure-timeout inf -o run.mt -- "$@" >out.txt 2>err.txt
	is "$name: recorded" "$?" 0
	check_identity run.mt >check.txt 2>&1
	is "$name: one identity, one call path" "$?" 0
	grep -v captures check.txt | head -n 80 | sed 's/^/    /'
	line=$(tail -n 1 check.txt)
	echo "note $name: $line; $(stat -c %s run.mt) bytes"
	captures=$((captures + $(sed -n 's/ captures,.*//p' check.txt)))
	rm -f run.mt
}

cat >work.py <<'EOF'
import json, re
for turn in range(12):
    text = json.dumps([{"name": "n%d" % i, "v": [i / 7] * 5} for i in range(400)])
    words = re.findall(r"[a-z]\d+", json.dumps(json.loads(text)))
    words.sort(key=lambda word: (len(word), word))
    import decimal, collections, argparse, dataclasses
    print(len(words), len(collections.Counter(words)))
EOF
sound python3 16384 /usr/bin/python3 -I work.py
sound cpp_nofp 16384 "$WORKLOADS/cpp_nofp"

cat >work.sql <<'EOF'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 6000)
	insert into t select i, hex(i * 7919) from n;
create index tb on t(b);
select count(*), max(length(a.b || b.b)) from t a join t b on a.b < b.b where a.a < 9;
select group_concat(b, ',') from (select b from t order by b desc limit 300);
EOF
sound sqlite3 16384 sqlite3 -batch :memory: '.read work.sql'

cat >work.cc <<'EOF'
template<int n> struct fold { static constexpr long value = n * fold<n - 1>::value % 9973 + n; };
template<> struct fold<0> { static constexpr long value = 1; };
long sum(const long *from, int n)
{
	long all = fold<90>::value;
	for (int i = 0; i < n; i++)
		all += from[i] % 3 ? from[i] : -from[i];
	return all;
}
EOF
sound clang 49152 clang -c -O2 -o work.o work.cc

cat >work.pl <<'EOF'
my %seen;
for my $turn (1 .. 3000) {
	my @words = map { "w$_" . ($_ * $turn) } 1 .. 4;
	$seen{$_}++ for sort { $b cmp $a } @words;
	$seen{join ',', @words} =~ s/1/one/g;
}
printf "%d\n", scalar keys %seen;
EOF
sound perl 16384 perl work.pl

is 'at least 100000 captures' "$((captures >= 100000))" 1
echo "note all: $captures captures"

# The plain digest finds hardly two stacks that are one; what is counted is the same.
RECORD_OPTIONS='--stack-identity bytes'
record bytes "$WORKLOADS/malloc_10007"
account bytes allocations allocated_bytes frees live_blocks peak_bytes
