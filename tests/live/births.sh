#!/bin/bash
# Every way to start a process or a thread: each call of its own is there once, with its functions.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# birth WAY REGEX CALLS PROCESSES THREADS [ARGUMENT]
birth()
{
	# shellcheck disable=SC2086 # one argument or none
	RECORD_OPTIONS=-v record "$1" "$WORKLOADS/births" "$1" ${6-}
	is "$1: calls" "$(folded count "$2")" "$3"
	is "$1: calls of take() elsewhere" "$(folded count ';(plug_)?take(;| )')" "${7-$3}"
	holds "$1: processes and threads" "([s['processes'], s['threads']], [$4, $5])"
	holds "$1: every file is verified" \
		'{m["status"] for m in s["modules"] if m["path"].startswith("/")} == {"verified"}'
	# What is mapped while the gate is closed stops nobody.
	[ $# -gt 5 ] || matches "$1: no stop" err.txt '; 0 stops,'
}

birth clone3 ';by_clone3;clone3_child;takes;take(;| )' 211 2 2
birth clone-vm '(^|;)main;execd;takes;take(;| )' 223 2 2
birth spawn '(^|;)main;execd;takes;take(;| )' 227 2 2
birth vfork '(^|;)main;execd;takes;take(;| )' 229 2 2
birth threads ';one_thread;takes;take(;| )' 1400 1 201
birth brief ';brief_child;plug_take(;| )' 221 14 14 "$WORKLOADS/libplug.so"

# By a thread that is not the leader: it goes on as the leader, everybody else is gone.
birth thread-exec '(^|;)main;execd;takes;take(;| )' 233 1 3 '' 334
holds 'thread-exec: what the program before left is gone' '(s["live_blocks"], 233)'

# The command is over at once; its grandchild is recorded until it ends, or not waited for.
rm -f daemon-done
birth daemon ';by_daemon;daemon_work;takes;take(;| )' 311 3 3
is 'daemon: waited for' "$(ls daemon-done)" daemon-done
rm -f daemon-done
mt-record -v --follow root -o run.mt -- "$WORKLOADS/births" daemon >out.txt 2>err.txt
is 'daemon, --follow root: status' $? 0
is 'daemon, --follow root: not recorded' "$(folded count ';daemon_work;')" 0
until_true 5 [ -e daemon-done ]
is 'daemon, --follow root: unharmed' "$(ls daemon-done)" daemon-done

# 32-bit code is not seen into, which is said.
# shellcheck disable=SC2016 # assembly
echo 'void _start(void) { __asm__ volatile("mov $1, %eax; xor %ebx, %ebx; int $0x80"); }' >thirtytwo.c
if gcc -m32 -nostdlib -static -ffreestanding -o thirtytwo thirtytwo.c 2>gcc.err && ./thirtytwo; then
	record '32-bit' sh -c "./thirtytwo; $WORKLOADS/births execd 251"
	matches '32-bit: said' err.txt '^mt-record: not covered: .*/thirtytwo: 32-bit code'
	holds '32-bit: stat says so' '[g for g in s["coverage_gaps"] if "thirtytwo" in str(g)]'
	is '32-bit: the others are recorded' "$(folded count '(^|;)main;execd;takes;take(;| )')" 251
	# Nor are libraries there for 32-bit programs looked at for others.
	record '64-bit' "$WORKLOADS/births" execd 257
	holds '64-bit: nothing is not covered' '(s["coverage_gaps"], [])'
	holds '64-bit: of modules only files and code' \
		'not [m for m in s["modules"] if m["status"] == "no_file"]'
else
	skip '32-bit' "$(head -n 1 gcc.err)"
fi
