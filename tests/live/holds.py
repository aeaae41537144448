"""holds.py FILE.json EXPRESSION - exit 0 if the expression holds of the file.

The expression sees s, the file's object, and want, the object in out.txt (what a workload
said of itself). A pair (got, want) holds if both are equal.
"""

import json
import sys


class Report(dict):
    """Says which key is missing."""

    def __missing__(self, key):
        sys.exit(f"no key '{key}' in {sorted(self)}")


def load(path, line=0):
    try:
        with open(path) as f:
            text = f.readlines()[line] if line else f.read()
        return json.loads(text, object_hook=Report)
    except (OSError, ValueError, IndexError):
        return None


path, expression = sys.argv[1:]
s = load(path)
if s is None:
    sys.exit(f"{path} is not JSON")
value = eval(expression, {"s": s, "want": load("out.txt", -1)})
if isinstance(value, tuple):
    if value[0] != value[1]:
        sys.exit(f"got {value[0]}, want {value[1]}")
elif not value:
    sys.exit(f"'{expression}' does not hold of {json.dumps(s)[:1500]}")
