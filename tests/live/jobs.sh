#!/bin/bash
# Parents that wait for stopped children behave as without us, though their children open files that
# nobody knows: shells with job control, script, sudo.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

cat >waiter.py <<'EOF'
import os, signal, subprocess, sys
signals = 0
def count(*_):
    global signals
    signals += 1
signal.signal(signal.SIGCHLD, count)
for module in ("_json", "_ssl", "_decimal", "_sqlite3"):
    pid = os.posix_spawn("/usr/bin/python3",
                         ["python3", "-c", "import %s; print(%r, flush=True)" % (module, module)], os.environ)
    while True:
        try:
            _, status = os.waitpid(pid, os.WUNTRACED | os.WCONTINUED)
        except InterruptedError:
            continue
        print("stopped" if os.WIFSTOPPED(status) else "continued" if os.WIFCONTINUED(status)
              else "ended %d" % os.waitstatus_to_exitcode(status), flush=True)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            break
print("signals", signals)
EOF
as_without 'a parent that waits for stops' /usr/bin/python3 waiter.py

cat >jobs.bash <<'EOF'
exec 2>&1
set -m
/usr/bin/python3 -c 'import _json; print("in front")'
/usr/bin/python3 -c 'import _ssl; print("behind")' &
wait $!
echo "status $?"
sqlite3 :memory: 'select 1'
git --version | cat
perl -MData::Dumper -e 'print Dumper(1)'
/usr/bin/python3 -c 'import os, signal, _decimal
os.kill(os.getpid(), signal.SIGSTOP)
import _sqlite3
print("resumed")'
echo "stopped: $?"
jobs
fg
echo "status $?"
jobs
EOF
as_without 'bash with job control' bash jobs.bash
as_without 'an interactive bash' script -eqc 'bash --norc --noprofile -i jobs.bash' /dev/null
as_without 'script' script -eqc "/usr/bin/python3 -c 'import _json, _ssl; print(1); raise SystemExit(3)'" /dev/null
as_without 'sudo' sudo -n /usr/bin/python3 -c 'import _json, _ssl; print(1); raise SystemExit(4)'
as_without 'sudo on a terminal' script -eqc "sudo -n /usr/bin/python3 -c 'import _json, _ssl; print(1)'" /dev/null

# Nobody answers for long: then it is stopped, and resumed when the recorder goes on.
cat >late.py <<'EOF'
import os, time
print(os.getpid(), flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
import _json
print("went on", flush=True)
EOF
mt-record -v -o run.mt -- /usr/bin/python3 late.py >out.txt 2>err.txt &
recorder=$!
until_true 10 [ -s out.txt ]
kill -STOP "$recorder"
: >go
target=$(head -n 1 out.txt)
until_true 30 is_stopped "$target"
is 'nobody answers: stopped' "$(state_of "$target")" T
kill -CONT "$recorder"
wait "$recorder"
is 'nobody answers: status' $? 0
is 'nobody answers: goes on' "$(tail -n 1 out.txt)" 'went on'
matches 'nobody answers: a stop' err.txt '; 1 stops,'
matches 'nobody answers: how long it took' err.txt '^mt-record: process [0-9]+ was stopped for [0-9.]+ ms$'
