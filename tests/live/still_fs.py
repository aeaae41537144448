"""still_fs.py - a FUSE file system of one file, without libfuse: still_fs.py FOLDER FILE

FOLDER/FILE's name is the file; everything asks this process each time. fuse(4), <linux/fuse.h>.
"""

import ctypes
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
INIT, OPENDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 29, 36, 42
ROOT, FILE = 1, 2

folder, path = sys.argv[1:]
name = os.path.basename(path).encode()
file = os.open(path, os.O_RDONLY)
fuse = os.open("/dev/fuse", os.O_RDWR)
if ctypes.CDLL(None, use_errno=True).mount(
        b"still", folder.encode(), b"fuse.still", 0,
        b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fuse):
    sys.exit("mount: " + os.strerror(ctypes.get_errno()))


def attributes(node):
    st = os.fstat(file)
    mode, size = (0o40755, 0) if node == ROOT else (0o100755, st.st_size)
    return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, int(st.st_mtime), 0,
                       0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(op, node, body):
    """What goes behind the header; None: not done here. Nothing is valid for any time."""
    if op == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 12, 9, 65536, 1, 32, 0, *[0] * 8)
    if op == LOOKUP and node == ROOT and body.rstrip(b"\0") == name:
        return struct.pack("<4Q2I", FILE, 1, 0, 0, 0, 0) + attributes(FILE)
    if op == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
    if op in (OPEN, OPENDIR):
        return struct.pack("<Q2I", 0, 0, 0)
    if op == READ:
        _, offset, size = struct.unpack_from("<2QI", body)
        return os.pread(file, size, offset)
    if op == STATFS:
        return struct.pack("<5Q4I6I", *[0] * 5, 4096, 255, 4096, *[0] * 7)
    if op in (RELEASE, RELEASEDIR):
        return b""
    return None


while True:
    try:
        request = os.read(fuse, 1 << 20)
    except OSError:  # unmounted
        break
    length, op, unique, node = struct.unpack_from("<2I2Q", request)
    if op in (FORGET, BATCH_FORGET, INTERRUPT):
        continue
    said = answer(op, node, request[40:length])
    error = 0 if said is not None else -2 if op == LOOKUP else -38
    os.write(fuse, struct.pack("<IiQ", 16 + len(said or b""), error, unique) + (said or b""))
