#!/usr/bin/env python3
"""prologues.py LABEL FILE: the rows of tests/unit/prologues.h for one build of an allocator.

Prints the first 32 bytes of each function of malloc's family in an x86-64 file (program, library,
object or the archive's first such object), and where its probe belongs: not by mt-record's own
decoder, but by what objdump says of the instructions. Aliases have one row.

A file of another release or build is had without installing it:

    apt-get download PACKAGE[=VERSION] && dpkg-deb -x FILE.deb DIR
"""
import re
import subprocess
import sys

NAMES = re.compile(r"^(__libc_|je_|mi_|tc_)?(malloc|calloc|realloc|reallocarray|free|posix_memalign|"
                   r"aligned_alloc|memalign|valloc|pvalloc|cfree|[mrxsd]+allocx|free_sized|"
                   r"malloc_aligned|zalloc)$")
SIZE = 32
# Registers that no argument is in and no caller keeps anything in.
SCRATCH = re.compile(r"%(rax|eax|ax|al|r10[dwb]?|r11[dwb]?)$")
WRITES = re.compile(r"(mov|movabs|movl|movq|movzb[lqw]|movzw[lq]|movsb[lqw]|movsw[lq]|movslq|lea|"
                    r"xor)$")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout


def functions(path):
    """Section index and address by name; of aliases the first name."""
    seen = {}
    for line in run("readelf", "-WsD" if path.endswith("so") else "-Ws", path).splitlines() + \
            run("readelf", "-Ws", path).splitlines():
        found = re.match(r"\s*\d+:\s+([0-9a-f]+)\s+\S+\s+(?:FUNC|IFUNC)\s+\S+\s+\S+\s+(\d+)\s+"
                         r"([\w$.]+)", line)
        if found and NAMES.match(found.group(3)):
            key = int(found.group(1), 16), int(found.group(2))
            seen.setdefault(key, found.group(3))
    return sorted(seen.items())


def section(path, index):
    for line in run("readelf", "-WS", path).splitlines():
        found = re.match(r"\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)", line)
        if found and int(found.group(1)) == index:
            return found.group(2), int(found.group(3), 16), int(found.group(4), 16)
    return None


def instructions(path, name, addr):
    text = run("objdump", "-dw", "-j", name, "--start-address=%#x" % addr,
               "--stop-address=%#x" % (addr + SIZE), path)
    for line in text.splitlines():
        found = re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(.*)$", line)
        if found and found.group(3):
            yield int(found.group(1), 16) - addr, len(found.group(2).split()), found.group(3)


def emulated(text):
    if re.match(r"push +%r", text) or text == "nop":
        return True
    return re.match(r"(call|jmp|j[a-z]+) +[0-9a-f]+", text) and not re.match(r"jr?cxz|jecxz", text)


def passed(text):
    words = text.split(None, 1)
    if re.match(r"(endbr64|nop[wl]|cs nop[wl]|data16)", text):
        return not text.startswith("data16 lea")
    if re.match(r"(cmp|test)[bwlq]?$", words[0]):
        return True
    operands = re.sub(r"\s+[#<].*", "", words[1]) if len(words) > 1 else ""
    return WRITES.match(words[0]) and SCRATCH.search(operands.split(",")[-1])


def site(listed):
    """Where it belongs, and whether the instruction there is emulated."""
    targets = set()
    for at, size, text in listed:
        found = re.match(r"(?:call|jmp|j[a-z]+) +([0-9a-f]+)", text)
        if found:
            targets.add(found.group(1))
    for at, size, text in listed:
        if at + size > SIZE or "(bad)" in text:
            break
        if emulated(text):
            return at, True
        if not passed(text):
            break
    return 0, False


def main(label, path):
    code = open(path, "rb").read()
    for (addr, index), name in functions(path):
        place = section(path, index)
        if not place:
            continue
        start = place[2] + addr - place[1]
        first = code[start:start + SIZE]
        forward, is_emulated = site(list(instructions(path, place[0], addr)))
        print("\t{ \"%s: %s\"," % (label, name))
        print("\t  CODE(\"%s\"" % "".join("\\x%02x" % b for b in first[:16]))
        print("\t       \"%s\"), %d, %s }," % ("".join("\\x%02x" % b for b in first[16:]), forward,
                                               "true" if is_emulated else "false"))


if len(sys.argv) != 3:
    print(__doc__, file=sys.stderr)
    sys.exit(64)
main(*sys.argv[1:])
