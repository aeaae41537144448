"""signals.py NAME - wait for a signal, count how often it comes, exit 42."""

import signal
import sys
import time

count = 0


def on_signal(*_):
    global count
    count += 1


signal.signal(getattr(signal, "SIG" + sys.argv[1]), on_signal)
print("ready", flush=True)
deadline = time.monotonic() + 20
while not count and time.monotonic() < deadline:
    time.sleep(0.02)
time.sleep(0.5)
print("got", count, flush=True)
sys.exit(42)
