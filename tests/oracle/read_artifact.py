#!/usr/bin/env python3
"""Print an artifact as JSON lines: mt-artifact(5) put into Python, and nothing else.

    read_artifact.py FILE            every event
    read_artifact.py --blocks FILE   every block, rows as they are after decoding
    read_artifact.py --frames FILE   the seek table, checked against the frames

Written from the manual page alone, to find out whether it suffices and whether mt-report
reads what it describes. Needs the zstd program, no modules.
"""
import json
import signal
import struct
import subprocess
import sys

WRAP = 1 << 64
EVENT_TYPES = [None, "malloc", "calloc", "realloc", "aligned", "free", "mmap", "munmap",
               "mremap", "brk"]
FREE, MMAP, MUNMAP, REALLOC, MREMAP, BRK, ALIGNED = 5, 6, 7, 3, 8, 9, 4
LIFECYCLE = {
    "parent": {2}, "pid": {1, 2}, "thread": {5, 6, 7}, "tid": {5}, "shares_memory": {2},
    "own_pid": {8}, "status": {4}, "name": {1, 3, 5, 7}, "path": {3},
}
MAPPINGS = {
    "start": {2, 3}, "end": {2, 3}, "offset": {2}, "dev_major": {2}, "dev_minor": {2},
    "ino": {2}, "generation": {2}, "path": {2},
}
COVERAGE = {
    "id": {1, 2}, "kind": {1}, "path": {1, 3}, "dev_major": {1, 3}, "dev_minor": {1, 3},
    "ino": {1, 3}, "functions": {1}, "function": {3}, "reason": {3}, "events": {2},
}
PACKED = {
    "id": {1}, "size": {1}, "dev_major": {2}, "dev_minor": {2}, "ino": {2}, "generation": {2},
    "path": {2}, "status": {2}, "reason": {2}, "own": {2}, "debug": {2}, "alt": {2},
    "debug_path": {2}, "package": {2},
}
MARKS = {"name": {1}}
SPARSE = {"lifecycle": LIFECYCLE, "mappings": MAPPINGS, "coverage": COVERAGE, "packed": PACKED,
          "marks": MARKS}
KNOWN_TYPES = {"lifecycle": range(1, 9), "mappings": range(1, 4), "coverage": range(1, 4),
               "packed": range(1, 3), "marks": range(1, 4)}


class Unpacker:
    """MessagePack values of a byte string, one after the other."""

    def __init__(self, data):
        self.data = data
        self.pos = 0

    def take(self, n):
        if len(self.data) - self.pos < n:
            raise EOFError
        self.pos += n
        return self.data[self.pos - n:self.pos]

    def number(self, code):
        code = ">" + code
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def value(self):
        tag = self.take(1)[0]
        if tag < 0x80:
            return tag
        if tag < 0x90:
            return self.pairs(tag & 15)
        if tag < 0xa0:
            return self.items(tag & 15)
        if tag < 0xc0:
            return self.text(tag & 31)
        if tag >= 0xe0:
            return tag - 256
        if tag in (0xc0, 0xc2, 0xc3):
            return {0xc0: None, 0xc2: False, 0xc3: True}[tag]
        if 0xc4 <= tag <= 0xc6:
            return bytes(self.take(self.number("BHI"[tag - 0xc4])))
        if 0xc7 <= tag <= 0xc9:
            return self.take(self.number("BHI"[tag - 0xc7]) + 1)
        if 0xca <= tag <= 0xd3:
            return self.number("fdBHIQbhiq"[tag - 0xca])
        if 0xd4 <= tag <= 0xd8:
            return self.take((1 << (tag - 0xd4)) + 1)
        if 0xd9 <= tag <= 0xdb:
            return self.text(self.number("BHI"[tag - 0xd9]))
        if tag in (0xdc, 0xdd):
            return self.items(self.number("HI"[tag - 0xdc]))
        if tag in (0xde, 0xdf):
            return self.pairs(self.number("HI"[tag - 0xde]))
        raise ValueError("0xc1 is no MessagePack")

    def items(self, n):
        return [self.value() for _ in range(n)]

    def pairs(self, n):
        return {self.value(): self.value() for _ in range(n)}

    def text(self, n):
        return self.take(n).decode("utf-8")


def unzigzag(value):
    return value >> 1 if value % 2 == 0 else -(value >> 1) - 1


def column(planes, count):
    if any(len(plane) != count for plane in planes):
        raise ValueError("a plane of another length")
    return [sum(plane[i] << 8 * k for k, plane in enumerate(planes)) for i in range(count)]


def events(body):
    """Rows of an events block."""
    n = body["n"]
    types = column(body.get("type", []), n)

    def sparse(name, has):
        return iter(column(body.get(name, []), sum(1 for t in types if has(t))))

    times, threads = column(body.get("time", []), n), column(body.get("thread", []), n)
    addrs = column(body.get("addr", []), n)

    def known(t):
        return 0 < t < len(EVENT_TYPES)

    def has_size(t):
        return known(t) and t != FREE

    def has_stack(t):
        return known(t) and t not in (FREE, MUNMAP)

    def has_old(t):
        return t in (REALLOC, MREMAP)

    sizes, stacks = sparse("size", has_size), sparse("stack", has_stack)
    olds, begins = sparse("old_addr", has_old), sparse("begin", has_old)
    aligns = sparse("align", lambda t: t == ALIGNED)
    old_sizes = sparse("old_size", lambda t: t in (MREMAP, BRK))
    unmap_stacks = sparse("unmap_stack", lambda t: t == MUNMAP)
    prots, flags = sparse("prot", lambda t: t == MMAP), sparse("flags", lambda t: t == MMAP)
    time = body["base_time"]
    for i, t in enumerate(types):
        time = (time + unzigzag(times[i])) % WRAP
        row = {"type": EVENT_TYPES[t] if known(t) else None, "time": time, "thread": threads[i],
               "addr": addrs[i]}
        if has_size(t):
            row["size"] = next(sizes)
        if has_stack(t):
            row["stack"] = next(stacks)
        if has_old(t):
            row["old_addr"] = next(olds) ^ addrs[i]
            row["begin"] = (time - unzigzag(next(begins))) % WRAP
        if t == ALIGNED:
            row["align"] = next(aligns)
        if t in (MREMAP, BRK):
            row["old_size"] = next(old_sizes)
        if t == MMAP:
            row["prot"], row["flags"] = next(prots), next(flags)
        if t == MUNMAP:
            row["stack"] = next(unmap_stacks)
        if known(t):
            yield row


def rows(kind, body):
    """Rows of a block of any other kind that is a table."""
    n, sparse = body["n"], SPARSE.get(kind, {})
    table = [{} for _ in range(n)]
    types = body.get("type", [None] * n)
    for name, values in body.items():
        if name == "n":
            continue
        values = iter(values)
        time = 0
        for row, t in zip(table, types):
            if name in sparse and t not in sparse[name]:
                continue
            row[name] = next(values)
            if name == "time":
                time = row[name] = (time + row[name]) % WRAP
        if next(values, None) is not None:
            raise ValueError("%s.%s has too many values" % (kind, name))
    return [r for r, t in zip(table, types) if t is None or t in KNOWN_TYPES[kind]]


def blocks(path):
    data = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout
    unpacker = Unpacker(data)
    while unpacker.pos < len(data):
        kind, version, body = unpacker.value()
        if version == 1:
            yield kind, body


def plain(value):
    """What JSON cannot say, said in it: binaries as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def show(value):
    print(json.dumps(plain(value), separators=(",", ":"), ensure_ascii=True))


def frame_end(data, at):
    """Where the zstd frame that begins at this offset ends, and the size of its content."""
    magic, descriptor = struct.unpack_from("<IB", data, at)
    if magic & 0xfffffff0 == 0x184d2a50:
        return at + 8 + struct.unpack_from("<I", data, at + 4)[0], None
    if magic != 0xfd2fb528 or descriptor & 0x0f != 4:
        raise ValueError("no frame of an artifact at %d" % at)
    flag, single = descriptor >> 6, descriptor >> 5 & 1
    at += 5 + (1 - single)
    size = 1 << flag
    content = int.from_bytes(data[at:at + size], "little") + (256 if flag == 1 else 0)
    at += size
    while True:
        head = int.from_bytes(data[at:at + 3], "little")
        at += 3 + (1 if head >> 1 & 3 == 1 else head >> 3)
        if head & 1:
            return at + 4, content


def frames(path):
    with open(path, "rb") as f:
        data = f.read()
    count, descriptor, magic = struct.unpack("<IBI", data[-9:])
    if magic != 0x8f92eab1 or descriptor:
        raise ValueError("no seek table")
    table = len(data) - 9 - 8 * count
    at = 0
    for i in range(count):
        size, content = struct.unpack_from("<II", data, table + 8 * i)
        if frame_end(data, at) != (at + size, content):
            raise ValueError("frame %d is not where the seek table says" % i)
        show({"offset": at, "size": size, "content": content})
        at += size
    if frame_end(data, at) != (len(data), None) or at + 8 != table:
        raise ValueError("the seek table is not behind the last frame")


def main(args):
    what = args.pop(0) if args and args[0].startswith("--") else "--events"
    if len(args) != 1 or what not in ("--events", "--blocks", "--frames"):
        sys.exit(__doc__)
    if what == "--frames":
        frames(args[0])
        return
    for kind, body in blocks(args[0]):
        if what == "--blocks":
            if kind == "events":
                body = list(events(body))
            elif "n" in body:
                body = rows(kind, body)
            show([kind, body])
        elif kind == "events":
            for row in events(body):
                show(row)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main(sys.argv[1:])
