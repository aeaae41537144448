"""cut.py FILE.mt CUT.mt - what of a recording stands before its last checkpoint.

Up to there its parts are consistent: mt-artifact(5). Exit 3: it has none.
"""

import ctypes
import sys

zstd = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress"):
    getattr(zstd, name).restype = ctypes.c_size_t
zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong


def frames(data):
    """(end, content) of each whole frame."""
    at = 0
    while at < len(data):
        rest = data[at:at + (17 << 20)]
        size = zstd.ZSTD_findFrameCompressedSize(rest, ctypes.c_size_t(len(rest)))
        if zstd.ZSTD_isError(ctypes.c_size_t(size)):
            return
        content = ctypes.create_string_buffer(
            zstd.ZSTD_getFrameContentSize(rest, ctypes.c_size_t(size)) + 1)
        n = zstd.ZSTD_decompress(content, ctypes.c_size_t(len(content)), rest,
                                 ctypes.c_size_t(size))
        at += size
        yield at, content.raw[:n]


with open(sys.argv[1], "rb") as f:
    data = f.read()
# A frame of events or stacks holds nothing else.
ends = [end for end, content in frames(data)
        if not content[1:].startswith((b"\xa6events", b"\xa6stacks"))
        and b"\x93\xaacheckpoint" in content]
if not ends:
    sys.exit(3)
with open(sys.argv[2], "wb") as f:
    f.write(data[:ends[-1]])
