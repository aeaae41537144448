"""examples.py PAGE OUTDIR - the examples of a manual page, a shell script each.

An example is what stands between .Bd -literal and .Ed in the EXAMPLES section.
"""

import os
import sys

page, out = sys.argv[1:]
inside = literal = False
n = 0
lines = []
with open(page) as f:
    for line in f:
        if line.startswith(".Sh "):
            inside = line.strip() == ".Sh EXAMPLES"
        elif inside and line.startswith(".Bd -literal"):
            literal, lines = True, []
        elif literal and line.startswith(".Ed"):
            literal = False
            n += 1
            name = f"{os.path.basename(page)}-{n}"
            with open(os.path.join(out, name), "w") as script:
                script.writelines(lines)
        elif literal:
            lines.append(line.replace("\\e", "\\").replace("\\&", ""))
