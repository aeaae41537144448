"""slow.py - pass on standard input, 100 kB a second."""

import sys
import time

while True:
    data = sys.stdin.buffer.read1(10000)
    if not data:
        break
    sys.stdout.buffer.write(data)
    time.sleep(len(data) / 100000)
