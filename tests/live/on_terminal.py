"""on_terminal.py ACT OUT COMMAND... - run it as the leader of a session on a terminal of its own.

Once the file OUT says "ready": ACT "hangup" closes the terminal, "type:X" types a control character,
"alone:NAME" sends the leader a signal, "group:NAME" the leader's process group. Prints the exit
statuses of the leader and of all whom it leaves behind, in order of their end.
"""

import ctypes
import os
import pty
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36

act, _, what = sys.argv[1].partition(":")
out = sys.argv[2]
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
leader, master = pty.fork()
if not leader:
    os.execvp(sys.argv[3], sys.argv[3:])


def is_ready():
    try:
        with open(out) as f:
            return "ready" in f.read()
    except OSError:
        return False


deadline = time.monotonic() + 60
while not is_ready() and time.monotonic() < deadline:
    time.sleep(0.02)
if act == "hangup":
    os.close(master)
elif act == "type":
    os.write(master, bytes([ord(what) & 31]))
elif act == "alone":
    os.kill(leader, getattr(signal, "SIG" + what))
else:
    os.killpg(leader, getattr(signal, "SIG" + what))
statuses = []
while True:
    # Somebody must read what they say, or they wait.
    if act != "hangup" and select.select([master], [], [], 0.05)[0]:
        try:
            os.read(master, 4096)
        except OSError:
            pass
    elif act == "hangup":
        time.sleep(0.05)
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        break
    if pid:
        statuses.append(os.waitstatus_to_exitcode(status))
print(*statuses)
