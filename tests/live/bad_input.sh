#!/bin/bash
# Each thing that can be wrong is one clear line, and the right status.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# refused NAME STATUS REGEX COMMAND...: exits so, and says it in one line.
refused()
{
	local name=$1 want=$2 re=$3 code=0

	shift 3
	# What is not refused would record, perhaps for long.
	timeout 30 "$@" >out.txt 2>err.txt </dev/null || code=$?
	is "$name: status" "$code" "$want"
	one_line "$name: one line" err.txt
	matches "$name: says what" err.txt "$re"
}

refused 'output folder missing' 125 'no/such/run\.mt.*No such file' mt-record -o no/such/run.mt -- true
mkdir locked
refused 'output is a folder' 125 'locked' mt-record -o locked -- true

mkdir small
if unshare -m sh -c 'mount -t tmpfs -o ro none small' 2>/dev/null; then
	# shellcheck disable=SC2016
	refused 'output folder read-only' 125 'Read-only file system' unshare -m sh -c '
		mount -t tmpfs -o ro none small && exec mt-record -o small/run.mt -- true'
	cat >full.sh <<-'EOF'
		mount -t tmpfs -o size=64k none small || exit 1
		mt-record -o small/run.mt -- "$@"
		code=$?
		# What was written is kept and readable.
		mt-report stat --json small/run.mt* >full.json 2>full.err
		exit $code
	EOF
	code=0
	unshare -m sh full.sh /usr/bin/python3 -c 'import json, re, random
random.seed(1)
for i in range(3000):
    json.loads(json.dumps({str(random.random()): [random.random()] * 10}))
print("the command ran on")' >out.txt 2>err.txt || code=$?
	is 'output folder full: status' "$code" 125
	matches 'output folder full: says so' err.txt 'No space left'
	is 'output folder full: the command runs to its end' "$(cat out.txt)" 'the command ran on'
	holds 'output folder full: what was written is readable' 's["format_version"] == 1' full.json
else
	skip 'output folder read-only or full' 'no mount namespaces here'
fi

for size in -1 65529 100000 99999999999999999999 many '' 12x; do
	refused "--stack-size '$size'" 64 'stack-size' mt-record --stack-size="$size" -o run.mt -- true
done
refused '--ring-size 3' 64 'ring-size' mt-record --ring-size=3 -o run.mt -- true
refused '--ring-size 5M' 64 'power of two' mt-record --ring-size=5M -o run.mt -- true
refused 'a mistyped option' 64 'stack-size' mt-record --stak-size 8192 -- true
refused 'no command' 64 'command' mt-record -o run.mt
refused 'an option without its value' 64 'output' mt-record --output
mt-record --stack-size 0 -q -o run.mt -- "$WORKLOADS/malloc_10007" >out.txt 2>err.txt
is '--stack-size 0 is allowed' $? 0
mt-report stat --json run.mt >stat.json 2>/dev/null
holds '--stack-size 0: no stacks' '(s["stacks"]["definitions"], 0)'
account '--stack-size 0' allocations allocated_bytes frees live_bytes peak_bytes
mt-record --stack-size 65528 -q -o run.mt -- true
is '--stack-size 65528 is allowed' $? 0
mt-record --help >out.txt 2>err.txt
is '--help' $? 0
matches '--help goes to standard output' out.txt 'stack-size'
mt-record --version >out.txt 2>err.txt
is '--version' "$(cat out.txt)" 'mt-record 0.1.0'

# No privileges. The program must be where nobody can reach it.
cp "$(command -v mt-record)" ./mt-record
chmod 755 mt-record
mkdir -m 777 theirs
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all"
# shellcheck disable=SC2086
refused 'no privileges' 125 '(CAP_BPF|CAP_SYS_ADMIN|CAP_PERFMON).*(sudo|setcap|root)' \
	$nobody ./mt-record -o theirs/run.mt -- true
is 'no privileges: no file is left' "$(ls theirs)" ''
refused 'CAP_BPF alone is missing' 125 'CAP_BPF|CAP_SYS_ADMIN' \
	setpriv --bounding-set=-bpf,-sys_admin ./mt-record -o theirs/run.mt -- true

# No type information of the kernel.
mkdir empty
# shellcheck disable=SC2016
refused 'no BTF' 125 '/sys/kernel/btf/vmlinux|BTF' unshare -m sh -c '
	mount --bind empty /sys/kernel/btf && exec mt-record -o run.mt -- true'

# Containers refuse perf_event_open() by a seccomp filter.
cat >refuse.py <<'EOF'
import ctypes, errno, os, platform, struct, sys
number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
code = b"".join(struct.pack("HBBI", *each) for each in (
    (0x20, 0, 0, 0), (0x15, 0, 1, number),
    (0x06, 0, 0, 0x00050000 | errno.EACCES), (0x06, 0, 0, 0x7fff0000)))
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0):
    sys.exit("no filter")
os.execvp(sys.argv[1], sys.argv[1:])
EOF
refused 'perf_event_open refused' 125 '^mt-record: perf_event_open is refused' \
	/usr/bin/python3 refuse.py mt-record -o refused.mt -- touch ran
is 'perf_event_open refused: nothing was run' "$(ls ran refused.mt 2>/dev/null)" ''

# Processes that cannot be attached to.
sleep 300 &
sleeper=$!
sh -c 'true & exec sleep 300' &
parent=$!
zombie() { ps -o pid= --ppid "$parent" | tr -d ' '; }
ended() { [ "$(state_of "$(zombie)")" = Z ]; }
until_true 20 ended
nobody_there=$(($(cat /proc/sys/kernel/pid_max) - 1))
while [ -d "/proc/$nobody_there" ]; do
	nobody_there=$((nobody_there - 1))
done
refused 'attach: no such process' 125 "^mt-record: process $nobody_there: No such process$" \
	mt-record -o p.mt -p "$nobody_there"
refused 'attach: a zombie' 125 '^mt-record: process [0-9]+ has ended already' \
	mt-record -o p.mt -p "$(zombie)"
if grep -q kthreadd /proc/2/comm; then
	refused 'attach: a thread of the kernel' 125 '^mt-record: process 2 is a thread of the kernel' \
		mt-record -o p.mt -p 2
fi
# shellcheck disable=SC2016
refused 'attach: itself' 125 '^mt-record: process [0-9]+ is this mt-record itself$' \
	sh -c 'exec mt-record -o p.mt -p $$'
/usr/bin/python3 -c '
import threading, time
t = threading.Thread(target=time.sleep, args=(300,), daemon=True)
t.start()
print(t.native_id, flush=True)
time.sleep(300)' >thread.txt &
threads=$!
until_true 20 test -s thread.txt
tid=$(cat thread.txt)
refused 'attach: a thread' 125 "^mt-record: $tid is a thread of process $threads; .* -p $threads$" \
	mt-record -o p.mt -p "$tid"
# shellcheck disable=SC2086
refused "attach: another user's, without privileges" 125 'CAP_SYS_PTRACE.*sudo mt-record' \
	$nobody ./mt-record -o theirs/run.mt -p "$sleeper"
is 'attach: no file is left' "$(ls -d p.mt theirs/* 2>/dev/null)" ''

# A sandbox from which other processes cannot be traced, not even by root.
cat >sandbox.py <<'EOF'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
attr = struct.pack("Q", 1 << 12)
fd = libc.syscall(444, attr, ctypes.c_size_t(len(attr)), 0)
if fd < 0 or libc.prctl(38, 1, 0, 0, 0) or libc.syscall(446, fd, 0):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
EOF
if /usr/bin/python3 sandbox.py true; then
	refused 'attach: out of a sandbox' 125 \
		"^mt-record: process $sleeper cannot be attached to, .*; run mt-record as root outside" \
		/usr/bin/python3 sandbox.py mt-record -o p.mt -p "$sleeper"
elif cat /proc/1/maps >/dev/null 2>&1; then
	echo 'note no Landlock here'
else
	refused 'attach: a process that shows us nothing' 125 \
		'^mt-record: process 1 cannot be attached to, .*; run mt-record as root outside' \
		mt-record -o p.mt -p 1
fi
is 'attach: it runs on' "$(state_of "$sleeper")" S

# Below a shell that is attached to, mt-record leaves itself out.
code=0
# shellcheck disable=SC2016
sh -c 'mt-record --duration 1s -o below.mt -p $$; sleep 0.1; exit 3' 2>err.txt || code=$?
is 'attach: to the shell that runs it' "$code" 3
mt-report stat --json below.mt >stat.json 2>/dev/null
holds 'attach: to the shell that runs it: itself left out' '(s["processes"], 1)'
kill "$sleeper" "$parent" "$threads"
