"""terminal.py COMMAND... - run it on a terminal of its own, press Ctrl-C once it is "ready".

Prints what it printed and its exit status.
"""

import os
import pty
import sys

pid, master = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
pressed = False
while True:
    try:
        chunk = os.read(master, 4096)
    except OSError:
        break
    if not chunk:
        break
    said += chunk
    if b"ready" in said and not pressed:
        os.write(master, b"\x03")
        pressed = True
_, status = os.waitpid(pid, 0)
print(said.decode(errors="replace").replace("\r", "").strip())
print("status", os.waitstatus_to_exitcode(status))
