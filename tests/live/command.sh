#!/bin/bash
# The command runs as if the recorder were not there.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# run NAME WANTED-STATUS COMMAND...
run()
{
	local name=$1 want=$2 code=0

	shift 2
	mt-record -q -o run.mt -- "$@" >out.txt 2>err.txt || code=$?
	is "$name" "$code" "$want"
}

run 'exit status 0' 0 true
run 'exit status 1' 1 false
run 'exit status 77' 77 sh -c 'exit 77'
# shellcheck disable=SC2016
run 'killed by SIGKILL' 137 sh -c 'kill -KILL $$'
# shellcheck disable=SC2016
run 'killed by SIGSEGV' 139 sh -c 'ulimit -c 0; kill -SEGV $$'
mt-report stat --json run.mt >stat.json 2>/dev/null
holds 'the file of a killed command is whole' '(sum(s["lost"].values()), 0)'
is '-q says nothing' "$(cat err.txt)" ''

rm -f run.mt
run 'command not found' 127 no-such-command-here
one_line 'command not found: one line' err.txt
matches 'command not found: named' err.txt 'no-such-command-here'
is 'command not found: no file is left' "$(find . -name '*.mt*')" ''
echo 'echo hello' >script
run 'not executable' 126 ./script
one_line 'not executable: one line' err.txt
run 'a directory is not executable' 126 /tmp
printf '\177ELF garbage' >broken
chmod +x broken
env ./broken >env.txt 2>&1
run 'not a program: as env(1) does' $? ./broken
chmod +x script
printf '#!/bin/sh\nexit 9\n' >script
run 'a script' 9 ./script
printf '#!/no/such/interpreter\n' >script
run 'a script without its interpreter' 127 ./script

# Streams, environment, directory, arguments.
printf 'one\ntwo\n' | mt-record -q -o run.mt -- cat >out.txt 2>err.txt
is 'standard input and output' "$(cat out.txt)" "$(printf 'one\ntwo')"
mt-record -q -o run.mt -- sh -c 'echo said >&2' >out.txt 2>err.txt
is 'standard error' "$(cat err.txt)" said
mkdir elsewhere
(cd elsewhere && mt-record -q -o ../run.mt -- pwd -P) >out.txt
is 'working directory' "$(cat out.txt)" "$(cd elsewhere && pwd -P)"
env -i PATH="$PATH" MARK=here env | sort >want.txt
env -i PATH="$PATH" MARK=here mt-record -q -o run.mt -- env | sort >out.txt
is 'environment' "$(cat out.txt)" "$(cat want.txt)"
# shellcheck disable=SC2016
mt-record -q -o run.mt -- sh -c 'printf "%s|" "$@"' x -a '' 'two words' -- --output >out.txt
is 'arguments' "$(cat out.txt)" '-a||two words|--|--output|'
mt-record -q -o run.mt echo -n --version >out.txt
is 'options end at the command' "$(cat out.txt)" '--version'
mt-record -q -o run.mt -- sh -c 'ls -l /proc/self/fd | wc -l' </dev/null >out.txt 2>err.txt
sh -c 'ls -l /proc/self/fd | wc -l' </dev/null >want.txt 2>err.txt
is 'no file descriptor is passed on' "$(cat out.txt)" "$(cat want.txt)"
mt-record -q -o run.mt -- grep -E '^(SigBlk|SigIgn|SigCgt)' /proc/self/status >out.txt
grep -E '^(SigBlk|SigIgn|SigCgt)' /proc/self/status >want.txt
is 'signal mask and actions' "$(cat out.txt)" "$(cat want.txt)"
mt-record -q -o run.mt -- sh -c 'ulimit -a; umask' >out.txt
sh -c 'ulimit -a; umask' >want.txt
is 'limits and umask' "$(cat out.txt)" "$(cat want.txt)"

# A reader that goes away hits the command as it would without us.
mt-record -q -o run.mt -- sh -c 'trap "" PIPE; yes 2>/dev/null | head -c 10' >out.txt
is 'a broken pipe' "$(wc -c <out.txt)" 10

# Signals: each reaches the command once, and the file is finished.
for sig in INT TERM HUP QUIT; do
	rm -f run.mt out.txt
	mt-record -q -o run.mt -- /usr/bin/python3 "$LIVE/signals.py" "$sig" >out.txt 2>err.txt &
	pid=$!
	until_true 10 grep -q ready out.txt
	kill -s "$sig" "$pid"
	code=0
	wait "$pid" || code=$?
	is "SIG$sig: the command's status" "$code" 42
	is "SIG$sig: reaches the command once" "$(tail -n 1 out.txt)" 'got 1'
	mt-report check run.mt >check.txt 2>&1
	is "SIG$sig: the file is whole" $? 0
done

# Ctrl-C goes to all on the terminal, the command among them: not a second time by us.
timeout 60 /usr/bin/python3 "$LIVE/terminal.py" mt-record -q -o run.mt -- \
	/usr/bin/python3 "$LIVE/signals.py" INT >out.txt 2>&1
is 'Ctrl-C reaches the command once' "$(grep -o 'got [0-9]*' out.txt)" 'got 1'
is 'Ctrl-C: the command'\''s status' "$(tail -n 1 out.txt)" 'status 42'
mt-report check run.mt >check.txt 2>&1
is 'Ctrl-C: the file is whole' $? 0

# A command that dies of it.
rm -f run.mt out.txt
mt-record -q -o run.mt -- sh -c 'echo ready; exec sleep 60' >out.txt 2>err.txt &
pid=$!
until_true 10 grep -q ready out.txt
kill -TERM "$pid"
code=0
wait "$pid" || code=$?
is 'a command that SIGTERM ends' "$code" 143

# The recorder killed: what it wrote until then is readable.
rm -f run.mt* out.txt
mt-record -q -o killed.mt -- sh -c "echo \$\$; $WORKLOADS/malloc_10007; exec sleep 60" >out.txt 2>err.txt &
pid=$!
sleep 4
kill -KILL "$pid"
wait "$pid" 2>/dev/null
kill -KILL "$(head -n 1 out.txt)"
left=$(find . -name 'killed.mt*' -type f | head -n 1)
code=0
mt-report stat --json "${left:-none}" >stat.json 2>stat.err || code=$?
is 'a killed recorder: status of the report' "$code" 1
holds 'a killed recorder: what was written counts' '(s["allocations"] >= 10007, True)'

# As root for somebody else.
mkdir -m 777 shared
(cd shared && SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody mt-record -q -o run.mt -- id -u) >out.txt 2>err.txt
is 'under sudo the command is the user'\''s' "$(cat out.txt)" 65534
is 'under sudo the file is the user'\''s' "$(stat -c %u shared/run.mt 2>&1)" 65534
(cd shared && SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody mt-record -q -o run.mt -- \
	grep -E '^(Groups|CapEff|Gid)' /proc/self/status) >out.txt 2>err.txt
matches 'under sudo no capability is left' out.txt '^CapEff:[[:space:]]0*$'
matches 'under sudo the group is the user'\''s' out.txt '^Gid:[[:space:]]65534[[:space:]]65534'
echo "root's" >roots
ln -s run.mt shared/link.mt
ln -s ../roots shared/escape.mt
while read -r file says; do
	code=0
	(cd shared && SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody mt-record -o "$file" -- \
		sh -c 'echo ran') >out.txt 2>err.txt || code=$?
	is "under sudo, $file: exit status" $code 125
	is "under sudo, $file: the command did not run" "$(cat out.txt)" ''
	is "under sudo, $file: said" "$(cat err.txt)" "mt-record: $file: $says"
done <<'EOF'
link.mt a symbolic link, which is not followed for another user
escape.mt a symbolic link, which is not followed for another user
../roots Permission denied
../new.mt Permission denied
EOF
is 'under sudo: a file of root'\''s is as it was' "$(cat roots; ls new.mt 2>/dev/null)" "root's"
