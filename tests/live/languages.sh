#!/bin/bash
# Languages and tools as Debian ships them: as without the recorder, everything seen, each block
# allocated once before it is freed.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

export HOME=$PWD
table=()

# same NAME COMMAND...: output and status with and without the recorder, and what was recorded.
same()
{
	local name=$1 code=0 before after

	shift
	"$@" >alone.txt 2>alone.err </dev/null || code=$?
	is "$name: works" "$code" 0
	WANT_CODE=$code RECORD_OPTIONS='--ring-size 256M --stack-ring-size 512M' record "$name" "$@"
	is "$name: output as without the recorder" "$(cat out.txt)" "$(cat alone.txt)"
	is "$name: messages as without it" "$(grep -v '^mt-record: ' err.txt)" "$(cat alone.err)"
	holds "$name: there are events" 's["events"] > 100'
	holds "$name: each block is there once" '(s["conflicts"], 0)'
	holds "$name: no free without a block" '(s["unmatched_frees"], 0)'
	before=$(date +%s%N)
	code=0
	mt-report symbolize run.mt >report.txt 2>report.err || code=$?
	after=$(date +%s%N)
	is "$name: status of the report" "$((code <= 1))" 1
	is "$name: the report is there" "$(($(wc -l <report.txt) > 10))" 1
	table+=("$(/usr/bin/python3 - "$name" $(((after - before) / 1000000)) <<-'PY'
		import json, os, sys
		s = json.load(open("stat.json"))
		a = s["stacks"]["allocations"]
		kinds = sorted({x["kind"] for x in s["allocators"] if x["events"]})
		print(f"{sys.argv[1]:14} {s['processes']:9} {s['events']:9} {s['allocated_bytes']:13} "
		      f"{s['stacks']['definitions']:7} {100 * a['complete'] / max(s['allocations'], 1):8.2f} "
		      f"{sum(s['lost'].values()):4} {s['conflicts']:6} {s['unmatched_frees']:9} "
		      f"{os.path.getsize('run.mt'):9} {int(sys.argv[2]):9}  {' '.join(kinds)}")
	PY
	)")
}

cat >work.rb <<'EOF'
rows = (0...3000).map { |i| { "name" => "n#{i * 7919 % 3000}", "v" => [i] * 5 } }
rows.sort_by! { |r| r["name"] }
text = rows.inspect
puts text.scan(/n\d+/).size, rows.first["name"]
EOF
same ruby ruby --disable-gems work.rb

cat >work.js <<'EOF'
const rows = [];
for (let i = 0; i < 3000; i++)
	rows.push({ name: 'n' + i * 7919 % 3000, v: [i, i, i] });
rows.sort((a, b) => a.name < b.name ? -1 : 1);
console.log(JSON.stringify(rows).match(/n\d+/g).length, Buffer.alloc(100000, 'x').toString().length);
EOF
same node /usr/bin/node work.js

cat >work.pl <<'EOF'
my @rows = map { { name => "n" . $_ * 7919 % 3000, v => [($_) x 5] } } 0 .. 2999;
my %by = map { $_->{name} => $_ } sort { $a->{name} cmp $b->{name} } @rows;
my $text = join ",", map { "$_=$by{$_}{v}[0]" } sort keys %by;
print length($text), " ", scalar(() = $text =~ /n\d+/g), "\n";
EOF
same perl perl work.pl

seq 20000 >numbers
# shellcheck disable=SC2016 # that shell expands it
same 'a pipeline' sh -c 'sort -r numbers | awk "{ s[\$1 % 7]++ } END { for (k in s) print k, s[k] }" |
	sed "s/ /:/" | sort | tr "\n" " " | xargs -n 2 echo'

mkdir project
for i in 1 2 3 4; do
	printf '#include <stdio.h>\nint f%d(void) { return printf("%%d", %d); }\n' "$i" "$i" \
		>"project/f$i.c"
done
cat >project/main.c <<'EOF'
int f1(void), f2(void), f3(void), f4(void);
int main(void) { f1(); f2(); f3(); return !f4(); }
EOF
cat >project/Makefile <<'EOF'
OBJS = main.o f1.o f2.o f3.o f4.o
.RECIPEPREFIX = >
all: clean
>$(MAKE) prog
prog: $(OBJS)
>gcc -o $@ $^
>./prog
clean:
>rm -f $(OBJS) prog
.PHONY: all clean
EOF
same 'make -j2' make -s -j2 -C project

cat >work.rs <<'EOF'
use std::collections::BTreeMap;
fn main() {
    let mut m = BTreeMap::new();
    for i in 0..3000u32 { m.insert(format!("n{}", i * 7919 % 3000), vec![i; 5]); }
    println!("{} {}", m.len(), m.values().map(|v| v[0] as u64).sum::<u64>());
}
EOF
same rustc /usr/bin/rustc -C codegen-units=2 -o rust work.rs
same 'a Rust program' ./rust

# A program of the Java machine's own: what is native of it is seen.
same java sh -c 'rm -f keys; exec /usr/lib/jvm/default-java/bin/keytool -genkeypair -alias a \
	-keyalg RSA -dname CN=a -storepass secret1 -keystore keys'

mkdir go
cat >go/work.go <<'EOF'
package main

// #include <stdlib.h>
// #include <string.h>
// static int work(int n) { char *p = malloc(n); memset(p, 1, n); int r = p[n - 1]; free(p); return r; }
// static void *take(int n) { return malloc(n); }
import "C"
import (
	"fmt"
	"sync"
)

func deep(n int) int {
	var pad [64]int
	if n == 0 {
		return int(C.work(1000))
	}
	pad[n%64] = n
	return deep(n-1) + pad[n%64] - n
}

func main() {
	var wait sync.WaitGroup
	sums := make([]int, 8)
	for i := range sums {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			for k := 0; k < 101; k++ {
				sums[i] += deep(k * 5)
			}
		}(i)
	}
	wait.Wait()
	total := 0
	for _, s := range sums {
		total += s
	}
	for i := 0; i < 31; i++ {
		C.take(77)
	}
	m := map[string][]int{}
	for i := 0; i < 3000; i++ {
		m[fmt.Sprint("n", i)] = make([]int, 50)
	}
	fmt.Println(total, len(m))
}
EOF
export GOCACHE=$PWD/gocache GO111MODULE=off GOTOOLCHAIN=local GOFLAGS=
(cd go && timeout 200 /usr/bin/go build -o ../gowork work.go) >go.log 2>&1 || cat go.log
same 'Go with cgo' ./gowork
holds 'Go with cgo: the calls from C' 's["allocations"] >= 8 * 101 + 31'
holds 'Go with cgo: what C does not give back' 's["live_bytes"] >= 31 * 77'

printf '    %-14s %9s %9s %13s %7s %8s %4s %6s %9s %9s %9s  %s\n' program processes events bytes \
	stacks 'whole, %' lost double unmatched size 'report/ms' allocators
printf '    %s\n' "${table[@]}"
