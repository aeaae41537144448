#!/bin/bash
# Signals on a terminal: the command gets each once, as it would have without us.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# once NAME ACT SIGNAL STATUSES SHELL...: the shell runs the recorder of a command that counts signals.
once()
{
	local name=$1 act=$2 sig=$3 statuses=$4

	shift 4
	rm -f run.mt out.txt
	timeout 100 /usr/bin/python3 "$LIVE/on_terminal.py" "$act" out.txt "$@" \
		/usr/bin/python3 "$LIVE/signals.py" "$sig" >ended.txt 2>&1
	is "$name: reaches the command once" "$(tail -n 1 out.txt)" 'got 1'
	is "$name: exit status" "$(cat ended.txt)" "$statuses"
	mt-report check run.mt >check.txt 2>&1
	is "$name: the file is whole" $? 0
}

# The leader of the session, as with ssh -t; a shell's child in its group; and in one of its own.
leader=(sh -c 'exec mt-record -q -o run.mt -- "$@" >out.txt 2>err.txt' sh)
child=(sh -c 'trap : INT QUIT; mt-record -q -o run.mt -- "$@" >out.txt 2>err.txt; exit $?' sh)
job=(bash -mc 'mt-record -q -o run.mt -- "$@" >out.txt 2>err.txt; exit $?' sh)

# The leader alone is told; it dies, and then everybody who is left in the foreground is.
once 'hangup, session leader' hangup HUP 42 "${leader[@]}"
once 'hangup, child of a shell' hangup HUP '-1 42' "${child[@]}"
once 'hangup, job of a shell' hangup HUP '-1 42' "${job[@]}"
for way in leader child job; do
	declare -n command=$way
	once "Ctrl-C, $way" type:C INT 42 "${command[@]}"
	once "Ctrl-\\, $way" "type:\\" QUIT 42 "${command[@]}"
done
for sig in HUP INT TERM QUIT; do
	once "SIG$sig to the recorder alone" alone:$sig $sig 42 "${leader[@]}"
	once "SIG$sig to its group" group:$sig $sig 42 "${leader[@]}"
done
