#!/usr/bin/env python3
"""Print an exported event stream as JSON lines, and check what its readers rely on.

    read_memtrack.py FILE

A stack comes before the first event that refers to it, no record that is not a mapping comes
after the first mapping, every record has the five common keys and those of its type, times of
events do not go back. Needs the zstd program and read_artifact.py's decoder.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read_artifact import Unpacker  # noqa: E402

COMMON = {"pid", "tid", "timestamp", "addr", "type"}
STACKED = {"Malloc", "Calloc", "Realloc", "AlignedAlloc", "Mmap", "Munmap", "Brk"}
KEYS = {name: {"size"} for name in STACKED}
KEYS.update({
    "Free": set(), "Exec": set(), "Exit": set(), "Fork": {"parent_pid"},
    "Mapping": {"path", "dev", "ino", "file_offset", "len"},
    "Stack": {"hash", "sp", "regs", "bytes", "fp_chain", "truncated"},
})


def check(event, state):
    kind = event["type"]
    want = COMMON | KEYS[kind]
    optional = {"stack_hash", "old_addr"} if kind == "Realloc" else (
        {"stack_hash"} if kind in STACKED else set())
    assert want <= set(event) <= want | optional, (kind, sorted(event))
    assert not state["mappings"] or kind == "Mapping", "a record behind the mappings"
    if kind == "Stack":
        assert event["hash"] and event["hash"] not in state["stacks"]
        assert len(event["regs"]) == 33 and isinstance(event["truncated"], bool)
        state["stacks"].add(event["hash"])
    elif kind == "Mapping":
        state["mappings"] = True
    else:
        assert event["timestamp"] >= state["time"], "time goes back"
        state["time"] = event["timestamp"]
        assert event.get("stack_hash", None) != 0
        assert "stack_hash" not in event or event["stack_hash"] in state["stacks"]


def main():
    data = subprocess.run(["zstd", "-dcq", sys.argv[1]], check=True, stdout=subprocess.PIPE).stdout
    unpacker = Unpacker(data)
    state = {"stacks": set(), "mappings": False, "time": 0}
    while unpacker.pos < len(data):
        event = unpacker.value()
        check(event, state)
        print(json.dumps(event, sort_keys=True,
                         default=lambda b: {"bytes": len(b)}))


if __name__ == "__main__":
    main()
