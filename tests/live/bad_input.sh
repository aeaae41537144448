#!/bin/bash
# Each thing that can be wrong is one clear line, and the right status.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

# refused NAME STATUS REGEX COMMAND...: exits so, and says it in one line.
refused()
{
	local name=$1 want=$2 re=$3 code=0

	shift 3
	"$@" >out.txt 2>err.txt </dev/null || code=$?
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
