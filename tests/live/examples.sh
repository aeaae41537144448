#!/bin/bash
# The manual pages' examples work as they stand. What they name is put there first:
# programs called ./prog, ./server and ./tests, a makefile, a recording of ./prog.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

mkdir scripts bin
for page in "$TOP"/man/*.[0-9]; do
	/usr/bin/python3 "$LIVE/examples.py" "$page" scripts
done

# There may be no sudo, and as root there is no need of it.
printf '#!/bin/sh\nexec "$@"\n' >bin/sudo
chmod +x bin/sudo
export PATH=$PWD/bin:$PATH
cp "$WORKLOADS/malloc_10007" prog
ln prog server
ln -s /bin/true tests
printf 'all:\n\t/bin/true\n' >Makefile
mt-record -q -o kept.mt -- ./prog >/dev/null
# shellcheck disable=SC2016 # the inner shell expands it
mt-record -q --control fifo:ctl,ack -o marked.mt -- sh -c 'exec 3>ctl 4<ack
	echo mark begin >&3; read -r answer <&4; ./prog; echo mark end >&3; read -r answer <&4' >/dev/null
mt-report symbolize --no-report -o kept.profile kept.mt 2>/dev/null
pid=$(jq -r '.mapped_process_module_symbols | keys[0]' kept.profile/memtrack.metadata)
libc=$(cd kept.profile && ls ./*__libc.so.6.unwind_data)
libc=${libc#./}
libc=${libc%.unwind_data}

for script in scripts/*; do
	name=${script#scripts/}
	rm -rf run.mt run.mt.profile
	if grep -q -- --between "$script"; then
		cp marked.mt run.mt
	else
		cp kept.mt run.mt
	fi
	cp -r kept.profile run.mt.profile
	# Names and numbers that are another recording's.
	sed -i "s/4711/$pid/; s/[0-9]*__libc\.so\.6/$libc/; s|/main\.c|/malloc_10007.c|" "$script"
	# Some begin in the profile folder.
	dir=.
	if grep -q '0__prog\|__libc' "$script"; then
		dir=run.mt.profile
	fi
	code=0
	(cd "$dir" && bash -e -o pipefail "$OLDPWD/$script") >out.txt 2>err.txt </dev/null || code=$?
	# Each prints something, or compares.
	if [ "$code" = 0 ] && { [ -s out.txt ] || grep -q '^cmp ' "$script"; }; then
		ok "example $name"
	else
		sed 's/^/    /' "$script" err.txt
		not_ok "example $name" "exit status $code, $(wc -c <out.txt) bytes printed"
	fi
done
is 'there are examples' "$(($(find scripts -type f | wc -l) >= 8))" 1
