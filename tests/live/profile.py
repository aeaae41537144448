"""profile.py TOP.json: its call stacks without inlined calls and lines, each with its figures."""
import json
import sys

sums = {}
for stack in json.load(open(sys.argv[1]))["stacks"]:
    frames = tuple("%s in %s+%#x" % (frame["function"], frame["module"], frame["offset"] or 0)
                   for frame in stack["frames"] if not frame["inlined"])
    figures = sums.setdefault((frames, stack["end"]), [0, 0, 0, 0])
    for i, name in enumerate(("allocations", "allocated_bytes", "live_bytes", "peak_bytes")):
        figures[i] += stack[name]
for (frames, end), figures in sorted(sums.items()):
    print(figures, end, *frames, sep="\n  ")
