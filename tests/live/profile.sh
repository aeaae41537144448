#!/bin/bash
# Modules out of a profile folder, where there is nothing but mt-report and its own libraries: each
# stack has the same frames and names as here.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

stacks()
{
	/usr/bin/python3 -I "$LIVE/profile.py" "$1" >"${1%.json}.txt"
}

# from_folder NAME: run.mt reported here, and there from the folder alone.
from_folder()
{
	local name=$1 command here=0 there=0

	rm -rf run.mt.profile root/run*
	mt-report symbolize --no-report run.mt 2>folder.err || here=$?
	mt-report top -n 0 --json run.mt >here.json 2>here.err || here=$?
	cp -r run.mt run.mt.profile root
	chroot root /bin/mt-report top -n 0 --json --profile run.mt.profile run.mt >there.json 2>there.err ||
		there=$?
	is "$name: status" "$there" "$here"
	stacks here.json
	stacks there.json
	is "$name: the same stacks" "$(cmp here.txt there.txt 2>&1)" ''
	is "$name: there are some" "$(($(grep -c '^\[' there.txt) > 10))" 1
	is "$name: the same messages" "$(cmp here.err there.err 2>&1)" ''
	for command in stat 'folded --by count' symbolize pack; do
		# shellcheck disable=SC2086 # a command and its options
		chroot root /bin/mt-report $command --profile run.mt.profile -- run.mt >out.$$ 2>err.$$
		is "$name: $command: status" "$?" "$here"
	done
	# What comes of it is the same again, for other readers.
	chroot root /bin/mt-report symbolize --no-report --profile run.mt.profile -o again run.mt 2>err.$$
	is "$name: the same symbols and unwind data from the folder" \
		"$(diff -rq -x memtrack.metadata run.mt.profile root/again 2>&1)" ''
	is "$name: the same metadata, but for modules" "$(/usr/bin/python3 -I - 2>&1 <<-'PY'
		import json
		here, there = (json.load(open(d + "/memtrack.metadata")) for d in ("run.mt.profile", "root/again"))
		print([key for key in here if key != "modules" and here[key] != there.get(key)])
	PY
	)" '[]'
	rm -rf root/again
}

make_root
cp "$WORKLOADS/cpp_nofp" .
record python3 /usr/bin/python3 -c 'import json, re; re.findall("a+", json.dumps(["a"] * 1000))'
from_folder python3
record 'C++' ./cpp_nofp
from_folder 'C++'
chroot root /bin/mt-report top --profile run.mt.profile run.mt >top.txt
matches 'C++: functions have their lines' top.txt 'shop::Index::add.*cpp_nofp\.cc:[0-9]+$'
is 'C++: without the folder nothing is named' \
	"$(chroot root /bin/mt-report folded run.mt 2>/dev/null | grep -c 'shop::')" 0

# A folder of another recording has what both of them mapped, and another program of that name.
cp -r run.mt.profile old.profile
echo 'int main(void) { return !__builtin_malloc(77); }' >prog.c
cp "$WORKLOADS/malloc_10007" prog
record before ./prog
cp run.mt before.mt
mt-report folded before.mt >want.txt
want=$(readelf -n prog | sed -n 's/.*Build ID: //p')
gcc -g -O0 prog.c -o prog.new && mv prog.new prog
have=$(readelf -n prog | sed -n 's/.*Build ID: //p')
record after ./prog
mt-report symbolize --no-report run.mt 2>err.txt
mt-report folded --profile run.mt.profile before.mt >folded.txt 2>folded.err
is 'another build-id: status' $? 1
matches 'another build-id: refused, and told what would fit' folded.err \
	"/prog: refused \(changed\): profile folder: build-id $have here; build-id $want would fit"
is 'another build-id: not named by it' "$(grep -c ';main;' folded.txt)" 0
rm -rf root/before.mt root/run*
cp -r before.mt run.mt.profile root
chroot root /bin/mt-report folded --profile run.mt.profile before.mt >there.txt 2>there.err
is 'another recording: what both mapped is named' \
	"$(($(grep -c ';malloc [0-9]*$' there.txt) > 0))" 1
is 'another recording: the same here and there' "$(cmp folded.txt there.txt 2>&1)" ''

# Folders that are none, or of no use.
for folder in nowhere /etc prog; do
	mt-report folded --profile "$folder" run.mt >out.txt 2>err.txt
	is "--profile $folder: status" $? 2
	one_line "--profile $folder: one line" err.txt
done
sed -i 's/"modules":.*/"x":0}/' run.mt.profile/memtrack.metadata
mt-report folded --profile run.mt.profile run.mt >out.txt 2>err.txt
is 'without build-ids: what is here is used' $? 0
matches 'without build-ids: said' err.txt 'no module there has a build-id'
