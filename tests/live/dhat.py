"""dhat.py STAT.json DHAT-STDERR - "same" if totals and peak are those DHAT printed."""

import json
import re
import sys

with open(sys.argv[1]) as f:
    s = json.load(f)
with open(sys.argv[2]) as f:
    text = f.read().replace(",", "")
total = re.search(r"Total: +(\d+) bytes in (\d+) blocks", text)
peak = re.search(r"At t-gmax: +(\d+) bytes in (\d+) blocks", text)
if not total or not peak:
    sys.exit("valgrind printed no totals: " + text[:300])
dhat = [int(n) for n in total.groups() + peak.groups()]
ours = [s["allocated_bytes"], s["allocations"], s["peak_bytes"], s["peak_blocks"]]
print("same" if ours == dhat else f"ours {ours}, DHAT's {dhat}")
