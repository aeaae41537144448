#!/bin/bash
# Libraries wherever the dynamic linker looks for them: each call is there, and nobody is stopped.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

mkdir inherited beside preloaded
# lib NAME FOLDER CALLS FLAG...: a library with a function that allocates.
lib()
{
	cat >"$1.c" <<EOF
#include <stdlib.h>
void *volatile $1_block;
__attribute__((noinline)) void $1_take(void)
{
	$1_block = malloc(1013);
}
void $1_work(void)
{
	for (int i = 0; i < $3; i++)
		$1_take();
}
EOF
	gcc -g -O1 -fno-builtin -shared -fPIC -o "$2/lib$1.so" "$1.c" "${@:4}"
}
lib inner inherited 31
lib outer inherited 37 -Linherited -Wl,--no-as-needed -linner
lib beside beside 41
lib early preloaded 43
cat >>early.c <<'EOF'
__attribute__((constructor)) static void at_start(void)
{
	early_work();
}
EOF
gcc -g -O1 -fno-builtin -shared -fPIC -o preloaded/libearly.so early.c
printf 'void inner_work(void), outer_work(void);\nint main(void) { inner_work(); outer_work(); return 0; }\n' >tree.c
printf 'void beside_work(void);\nint main(void) { beside_work(); return 0; }\n' >near.c
# By DT_RPATH, which libouter.so's own libraries are looked for with as well; by DT_RUNPATH; not at all.
gcc -g -O1 -o by_rpath tree.c -Linherited -louter -linner -Wl,--disable-new-dtags "-Wl,-rpath,$PWD/inherited"
# shellcheck disable=SC2016 # the dynamic linker expands it
gcc -g -O1 -o by_origin near.c -Lbeside -lbeside -Wl,--enable-new-dtags '-Wl,-rpath,$ORIGIN/beside'
gcc -g -O1 -o by_environment near.c -Lbeside -lbeside

# found NAME WAITS FUNCTION CALLS COMMAND...
found()
{
	RECORD_OPTIONS=-v record "$1" "${@:5}"
	is "$1: calls" "$(folded count ";$3_take(;| )")" "$4"
	matches "$1: nobody was stopped" err.txt '; 0 stops,'
	[ "$2" = some ] || matches "$1: nobody waited" err.txt ' 0 waits,'
}

found 'DT_RPATH of the program' none outer 37 ./by_rpath
is 'DT_RPATH of the program, inherited: calls' "$(folded count ';inner_take(;| )')" 31
found 'from its own folder' none beside 41 ./by_origin
found 'LD_LIBRARY_PATH by env' some beside 41 env LD_LIBRARY_PATH="$PWD/beside" ./by_environment
found 'LD_PRELOAD by env' some early 43 env LD_PRELOAD="$PWD/preloaded/libearly.so" /usr/bin/true
LD_LIBRARY_PATH=$PWD/beside found 'LD_LIBRARY_PATH from outside' none beside 41 ./by_environment
# shellcheck disable=SC2016 # the inner shell expands it
found 'LD_LIBRARY_PATH in a shell' some beside 41 \
	sh -c 'LD_LIBRARY_PATH=$PWD/beside ./by_environment; exit $?'
# shellcheck disable=SC2016
found 'LD_PRELOAD in a shell' some early 43 \
	sh -c 'LD_PRELOAD=$PWD/preloaded/libearly.so /usr/bin/true; exit $?'
