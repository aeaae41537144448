#!/bin/bash
# Stop signals of somebody else that come while a process stands still for us are not lost: in the end
# it stands still, or has run its handler, as without us. Also if the recorder is killed meanwhile.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# target.py SIGNAL default|handler|blocked: a child maps code by itself, for which it is stopped, and
# tells of the handler's runs. Its parent tells what it learns by waiting for it.
cat >target.py <<'EOF'
import os, signal, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["LIVE"])
import maps_own
number = getattr(signal, sys.argv[1])
pid = os.fork()
if pid == 0:
    # A group of its own: in one that is orphaned such signals do nothing.
    os.setpgid(0, 0)
    signal.alarm(300)
    runs = 0
    def handle(*_):
        global runs
        runs += 1
    if sys.argv[2] == "handler":
        signal.signal(number, handle)
    if sys.argv[2] == "blocked":
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    maps_own.run("ready")
    print("runs", runs, "pending", number in signal.sigpending(), flush=True)
    os._exit(0)
stops = []
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    stops.append(signal.Signals(os.WSTOPSIG(status)).name)
    with open("stops", "w") as file:
        print(*stops, file=file, flush=True)
print("stops", *stops, flush=True)
EOF
cp "$WORKLOADS/librawcode.so" own.so

# hold SIGNAL HOW: a process stands still for us, nobody attends, and SIGNAL is sent.
hold()
{
	rm -f ready go mapped end stops
	mt-record -q -o run.mt -- /usr/bin/python3 target.py "$1" "$2" >out.txt 2>err.txt &
	recorder=$!
	until_true 60 [ -s ready ]
	target=$(cat ready)
	kill -STOP "$recorder"
	until_true 60 is_stopped "$recorder"
	: >go
	until_true 60 is_stopped "$target"
	is "$1, $2: it stands still for us" "$(state_of "$target") $(ls mapped 2>/dev/null)" 'T '
	until_true 60 [ -s stops ]
	kill -s "${1#SIG}" "$target"
}

# finish NAME SIGNAL HOW
finish()
{
	if [ "$3" = default ]; then
		until_true 60 grep -q "$2" stops
		is "$1: it stands still, by that signal" "$(state_of "$target") $(cat stops)" "T SIGSTOP $2"
		# Nobody resumes it after all.
		sleep 0.3
		is "$1: and goes on standing" "$(state_of "$target")" T
		kill -CONT "$target"
	fi
	until_true 60 is_running "$target"
	until_true 60 [ -e mapped ]
	is "$1: it goes on" "$(ls mapped 2>&1)" mapped
	: >end
	until_true 60 grep -q stops out.txt
}

for signal in SIGTSTP SIGTTIN SIGTTOU; do
	for how in default handler blocked; do
		case $how in
		default) want="runs 0 pending False stops SIGSTOP $signal" ;;
		handler) want='runs 1 pending False stops SIGSTOP' ;;
		blocked) want='runs 0 pending True stops SIGSTOP' ;;
		esac
		hold $signal $how
		kill -CONT "$recorder"
		finish "$signal, $how" $signal $how
		wait "$recorder"
		is "$signal, $how: status" $? 0
		is "$signal, $how: as without us" "$(tr '\n' ' ' <out.txt)" "$want "

		hold $signal $how
		kill -KILL "$recorder"
		wait "$recorder" 2>/dev/null
		finish "$signal, $how, recorder killed" $signal $how
		is "$signal, $how, recorder killed: as without us" "$(tr '\n' ' ' <out.txt)" "$want "
	done
done

# SIGSTOP of somebody else: only that one's end makes it go on.
hold SIGSTOP default
kill -CONT "$recorder"
sleep 1
is 'SIGSTOP: goes on standing' "$(state_of "$target") $(ls mapped 2>/dev/null)" 'T '
kill -CONT "$target"
finish SIGSTOP SIGSTOP handler
wait "$recorder"
is 'SIGSTOP: status' $? 0
