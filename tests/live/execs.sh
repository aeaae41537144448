#!/bin/bash
# Whoever executes a file that nobody knows is not stopped for it, and neither is the program,
# whatever it is linked with: who waits for its stop would see it.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# Only links can be waited in: man mt-record, CAVEATS.
mt-record -v -o run.mt -- true 2>err.txt
if grep -q 'attach perf;' err.txt; then
	ok 'no links: nobody waits before a file is executed'
	exit
fi

kinds='glibc musl static musl-static'
ways='execve vfork spawn spawnp execvp fexecve relative script system'

# build SOURCE NAME: NAME-KIND for every kind.
build()
{
	gcc -O1 -g -o "$2-glibc" "$TOP/testdata/execs/$1"
	gcc -O1 -g -static -o "$2-static" "$TOP/testdata/execs/$1"
	musl-gcc -O1 -g -o "$2-musl" "$TOP/testdata/execs/$1"
	musl-gcc -O1 -g -static -o "$2-musl-static" "$TOP/testdata/execs/$1"
}

# new_files FOLDER KIND...: WAY-KIND for every way, each an inode of its own.
new_files()
{
	local folder=$1 way kind

	shift
	rm -rf "$folder"
	mkdir -p "$folder"
	for way in $ways; do
		for kind; do
			cp "takes-$kind" "$folder/$way-$kind"
		done
	done
}

# unseen NAME TIMES: nobody was stopped in the latest recording, and the program ran so often.
unseen()
{
	matches "$1: nobody stood still" err.txt '; 0 stops,'
	is "$1: what the programs took" "$(folded count '(^|;)main;take(;| )')" $(($2 * 101))
}

build takes.c takes
build launch.c launch
n_ways=$(wc -w <<<"$ways")

# Every way to execute a program, by every kind of C library.
for kind in $kinds; do
	# shellcheck disable=SC2086
	new_files new $kinds
	"./launch-$kind" "$PWD/new" >want.txt
	# shellcheck disable=SC2086
	new_files new $kinds
	RECORD_OPTIONS=-v record "started by $kind" "./launch-$kind" "$PWD/new"
	is "started by $kind: as without" "$(diff want.txt out.txt 2>&1)" ''
	unseen "started by $kind" $((n_ways * 4))
done
is 'what they say' "$(sort -u want.txt | grep -c '^stopped\|^not\|^failed')" 0
is 'all ways were gone' "$(grep -c ^ended want.txt)" $(((n_ways - 1) * 4))

# In a root of its own with libraries of its own, by absolute links and relative names.
new_files jail/bin static musl-static
mkdir -p jail/lib64 jail/sbin
cp launch-glibc jail/sbin/launch
ldd launch-glibc | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
	while read -r file; do
		mkdir -p "jail/${file%/*}"
		cp -L "$file" "jail/$file"
	done
for kind in static musl-static; do
	mv "jail/bin/execve-$kind" "jail/sbin/$kind"
	ln -s "/sbin/$kind" "jail/bin/execve-$kind"
	rm "jail/bin/system-$kind"	# there is no shell
done
RECORD_OPTIONS=-v record 'in a chroot' chroot jail /sbin/launch /bin
is 'in a chroot: nobody failed' "$(grep -c ended out.txt)" $(((n_ways - 1) * 2))
unseen 'in a chroot' $(((n_ways - 1) * 2))

# Parents that take a stopped child for suspended, and suspend themselves.
for kind in musl static musl-static; do
	rm -f fresh
	cp "takes-$kind" fresh
	as_without "script, $kind" script -eqc ./fresh /dev/null
	unseen "script, $kind" 1
	rm -f fresh
	cp "takes-$kind" fresh
	as_without "sudo, $kind" sudo -n ./fresh
	unseen "sudo, $kind" 1
	rm -f fresh
	cp "takes-$kind" fresh
	as_without "sudo on a terminal, $kind" script -eqc 'sudo -n ./fresh' /dev/null
	unseen "sudo on a terminal, $kind" 1
	rm -f ./*.fresh
	for i in 1 2 3; do
		cp "takes-$kind" "$i.fresh"
	done
	cat >jobs.bash <<'EOF'
exec 2>&1
set -m
./1.fresh
./2.fresh &
wait $!
echo "status $?"
./3.fresh | cat
jobs
EOF
	as_without "bash with job control, $kind" bash jobs.bash
	unseen "bash with job control, $kind" 3
	for i in 1 2 3; do
		rm "$i.fresh"
		cp "takes-$kind" "$i.fresh"
	done
	as_without "an interactive bash, $kind" script -eqc 'bash --norc --noprofile -i jobs.bash' /dev/null
	unseen "an interactive bash, $kind" 3
	rm fresh
	cp "takes-$kind" fresh
	as_without "python, $kind" /usr/bin/python3 -c 'import os, sys
pid = os.posix_spawn("./fresh", ["fresh"], os.environ)
while True:
    status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)[1]
    print(status, flush=True)
    if not os.WIFSTOPPED(status) and not os.WIFCONTINUED(status):
        break'
	unseen "python, $kind" 1
done

# A program that changes under its name is looked at again each time.
# shellcheck disable=SC2016
RECORD_OPTIONS=-v record 'a name used again' bash -c 'for i in 1 2 3; do
	rm -f again
	cp takes-static again
	./again again
done'
matches 'a name used again: nobody was stopped' err.txt '; 0 stops,'
holds 'a name used again: each was seen' \
	'[a["events"] > 100 for a in s["allocators"] if a["path"].endswith("/again")] == [True] * 3'

# Many who wait at once leave the one who answers a CPU; and whoever waits while all are to stand
# still for full rings stands still too, or none would be answered before the time is up.
cat >crowd.sh <<'EOT'
"$@" &
for i in $(seq 60); do
	"./new/$i" again &
done
wait
EOT
for rings in '' '--pressure-timeout 8s --ring-size 64K --stack-ring-size 64K'; do
	rm -rf new
	mkdir new
	for i in $(seq 60); do
		cp takes-static "new/$i"
	done
	RECORD_OPTIONS="-v $rings" record "sixty at once${rings:+, pauses}" \
		bash crowd.sh "$WORKLOADS/storm" 4 "$([ "$rings" ] && echo 20000 || echo 20)"
	unseen "sixty at once${rings:+, pauses}" 60
	holds "sixty at once${rings:+, pauses}: nothing lost" 'sum(s["lost"].values()) == 0'
done
matches 'sixty at once, pauses: there were some' err.txt 'paused [0-9]+ times'
