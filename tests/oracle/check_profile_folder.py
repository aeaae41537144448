#!/usr/bin/env python3
"""Check a profile folder against its format and against what binutils say of the modules.

usage: check_profile_folder.py FOLDER

An independent reading of memtrack.metadata(5): it shares no code with mt-report. Prints one
line of counts and exits 0, or says what is wrong and exits 1. Modules whose files are no
longer there are checked for form only.
"""

import json
import os
import re
import struct
import subprocess
import sys

U64 = (1 << 64) - 1


def need(condition, message):
    if not condition:
        sys.exit("check_profile_folder: " + message)


def tool(*command):
    run = subprocess.run(command, capture_output=True, check=True)
    return run.stdout.decode("utf-8", "replace")


class Bincode:
    """Bincode 1, little endian, integers of fixed width."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, n):
        need(n <= len(self.data) - self.at, "unwind data is cut")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def octets(self):
        return self.take(self.number(8))

    def address_range(self):
        return self.number(8), self.number(8)

    def option(self, read):
        tag = self.number(1)
        need(tag in (0, 1), "option tag %d" % tag)
        return read() if tag else None


def decode_unwind(data):
    reader = Bincode(data)
    need(reader.number(4) == 3, "unwind data is not of the fourth version")
    unwind = {
        "path": reader.octets().decode("utf-8"),
        "base_svma": reader.number(8),
        "eh_frame_hdr": reader.option(reader.octets),
        "eh_frame_hdr_svma": reader.option(reader.address_range),
        "eh_frame": reader.octets(),
        "eh_frame_svma": reader.address_range(),
    }
    need(reader.at == len(data), "bytes after the unwind data")
    return unwind


def sections(path):
    """Name to (type, address, offset, size)."""
    found = {}
    for line in tool("readelf", "-SW", path).splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s(\S+)\s+(\S+)\s+([0-9a-f]+)\s([0-9a-f]+)\s([0-9a-f]+)\s",
                         line)
        if match:
            found[match[1]] = (match[2],) + tuple(int(match[i], 16) for i in (3, 4, 5))
    return found


def lowest_load(path):
    loads = re.findall(r"^\s*LOAD\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s", tool("readelf", "-lW", path),
                       re.M)
    return min(int(address, 16) for address in loads)


def check_unwind_against_file(unwind, path):
    have = sections(path)
    with open(path, "rb") as elf:
        image = elf.read()
    for name, data, svma in (
            (".eh_frame", unwind["eh_frame"], unwind["eh_frame_svma"]),
            (".eh_frame_hdr", unwind["eh_frame_hdr"], unwind["eh_frame_hdr_svma"])):
        if data is None:
            need(name not in have, "%s of %s is left out" % (name, path))
            continue
        _, address, offset, size = have[name]
        need(svma == (address, address + size), "%s of %s is at %r" % (name, path, svma))
        need(data == image[offset:offset + size], "%s of %s differs" % (name, path))
    need(unwind["base_svma"] == lowest_load(path), "base_svma of " + path)


def check_module_form(module, symbols, key):
    known = ["build_id", "path", "machine", "entry", "segments", "sections", "symbol_kinds",
             "functions"]
    need(list(module) == [name for name in known if name in module], "members of module " + key)
    need(re.fullmatch("([0-9a-f]{2})+", module["build_id"]), "build-id of " + key)
    need(("symbol_kinds" in module) == (symbols is not None), "symbol_kinds of " + key)
    if symbols is not None:
        need(re.fullmatch("[a-i]{%d}" % len(symbols), module["symbol_kinds"]),
             "symbol_kinds of %s has not a letter for each symbol" % key)
    addresses = [function["addr"] for function in module.get("functions", [])]
    need(addresses == sorted(set(addresses)), "functions of " + key)


def check_module_against_file(module, path):
    note = re.search("Build ID: ([0-9a-f]+)", tool("readelf", "-nW", path))
    need(note and note[1] == module["build_id"], "build-id of " + path)
    header = tool("readelf", "-hW", path)
    need(int(re.search("Entry point address: *(0x[0-9a-f]+)", header)[1], 16) == module["entry"],
         "entry of " + path)
    loads = re.findall(r"^\s*LOAD\s+(0x\S+)\s+(0x\S+)\s+\S+\s+(0x\S+)\s+(0x\S+)",
                       tool("readelf", "-lW", path), re.M)
    need([tuple(int(number, 16) for number in load) for load in loads] ==
         [(one["offset"], one["vaddr"], one["filesz"], one["memsz"])
          for one in module["segments"]], "segments of " + path)
    have = sections(path)
    for section in module["sections"]:
        found = have.get(section["name"])
        need(found and (found[1], found[3]) == (section["addr"], section["size"]),
             "section %s of %s" % (section["name"], path))
    need(set(name for name in (".text", ".eh_frame") if name in have and have[name][3]) <=
         set(section["name"] for section in module["sections"]), "sections of " + path)


def check_symbols_form(text, name):
    before = 0
    symbols = []
    for line in text.splitlines():
        match = re.fullmatch(r"([1-9a-f][0-9a-f]*|0) ([1-9a-f][0-9a-f]*) (.+)", line)
        need(match, "%s: bad line %r" % (name, line))
        address, size = int(match[1], 16), int(match[2], 16)
        need(address >= before, "%s: not sorted at %r" % (name, line))
        need(not re.fullmatch(r"\$[adtx](\..*)?", match[3]), "%s: %r" % (name, line))
        before = address
        symbols.append((address, size, match[3]))
    need(symbols, name + " is empty")
    need(len(set((a, n) for a, s, n in symbols)) == len(symbols), name + " has duplicates")
    return symbols


def symbols_of(path):
    """(address, name) to size, as readelf lists them; version suffixes removed."""
    found = {}
    for line in tool("readelf", "-sW", path).splitlines():
        match = re.match(r"\s*\d+: ([0-9a-f]+)\s+(\d+|0x[0-9a-f]+) (\S+)\s+(\S+)\s+\S+\s+"
                         r"(?:\[.*?\]\s+)?(\S+) (\S.*)?$", line)
        if not match or match[3] in ("FILE", "SECTION", "TLS") or not match[5].isdigit():
            continue
        name = re.sub(r"@.*", "", match[6] or "").strip()
        if name and not re.fullmatch(r"\$[adtx](\..*)?", name):
            found.setdefault((int(match[1], 16), name), int(match[2], 0))
    return found


def check_symbols_against_file(symbols, path, has_debug_file):
    want = symbols_of(path)
    listed = {(address, name): size for address, size, name in symbols}
    for (address, name), size in want.items():
        if size:
            need(listed.get((address, name)) == size,
                 "%s: %s at %x has size %r, not %d" % (path, name, address,
                                                       listed.get((address, name)), size))
    if has_debug_file:
        return
    for place in listed:
        need(place in want, "%s: %r is in no symbol table" % (path, place))
    # The zero-size rule, told anew: to the next symbol, the last one past the next page.
    places = sorted(set(address for address, _ in want))
    for (address, name), size in listed.items():
        if want[(address, name)]:
            continue
        above = [place for place in places if place > address]
        expect = above[0] - address if above else (address + 4095) // 4096 * 4096 + 4096 - address
        need(size == expect, "%s: %s got size %d, not %d" % (path, name, size, expect))


def number(value, what):
    need(isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= U64,
         "%s is %r" % (what, value))
    return value


def exactly(value, keys, what):
    need(isinstance(value, dict), what + " is no object")
    need(list(value) == keys, "%s has %r, not %r" % (what, list(value), keys))


def check_range(value, what):
    exactly(value, ["start", "end"], what)
    need(number(value["start"], what) < number(value["end"], what), what + " is empty")


def check_lists(metadata, name, key_name, extra):
    """{"PID": [entry]}: form, and order by key. Yields (pid, entry)."""
    lists = metadata.get(name)
    if lists is None:
        return []
    need(lists, name + " is empty, and should be left out")
    found = []
    for pid, entries in lists.items():
        need(re.fullmatch(r"[1-9][0-9]*|0", pid), "%s: pid %r" % (name, pid))
        need(entries, "%s: no entries for pid %s" % (name, pid))
        need([e[key_name] for e in entries] == sorted(e[key_name] for e in entries),
             "%s: pid %s is not sorted" % (name, pid))
        for entry in entries:
            keys = [key_name] + extra
            exactly(entry, keys, name)
            if entry["timestamp"] is not None:
                number(entry["timestamp"], "timestamp")
            check_range(entry["avma_range"], "avma_range")
            found.append((pid, entry))
    return found


def check_debug_info(info, symbols, key):
    exactly(info, ["object_path", "addr_bounds", "load_bias", "debug_infos"], "debug_info")
    need(info["load_bias"] == 0, "load_bias of debug_info is not 0")
    rows = info["debug_infos"]
    need(rows, "debug_infos of %s is empty" % key)
    need(info["addr_bounds"] == [min(r["addr"] for r in rows),
                                 max(r["addr"] + r["size"] for r in rows)],
         "addr_bounds of " + key)
    listed = set(symbols)
    before = 0
    for row in rows:
        exactly(row, ["addr", "size", "name", "file", "line"], "debug_infos")
        need(number(row["addr"], "addr") >= before, "debug_infos of %s is not sorted" % key)
        before = row["addr"]
        need((row["addr"], row["size"], row["name"]) in listed, "%r is no symbol" % row)
        need(isinstance(row["file"], str) and row["file"], "%r has no file" % row)
        if row["line"] is not None:
            need(number(row["line"], "line") > 0, "%r has line 0" % row)


def check_lines_against_file(info, path):
    """The outermost function's location, as addr2line has it, of up to 200 functions."""
    rows = info["debug_infos"][:: max(1, len(info["debug_infos"]) // 200)]
    lines = tool("addr2line", "-a", "-i", "-e", path, *["%x" % r["addr"] for r in rows])
    blocks = re.split(r"^0x[0-9a-f]+\n", lines, flags=re.M)[1:]
    compared = other_file = 0
    for row, block in zip(rows, blocks):
        last = re.sub(r" \(discriminator.*", "", block.splitlines()[-1])
        name, line = last.rsplit(":", 1)
        if line in ("?", "0"):
            continue
        need(int(line) == row["line"], "%s: %s is at %s:%r, addr2line says %s" % (
            path, row["name"], row["file"], row["line"], last))
        compared += 1
        other_file += os.path.basename(name) != os.path.basename(row["file"])
    # It names the including file for a few functions that stand in an included one.
    need(other_file * 20 <= compared, "%s: %d of %d functions are in another file for addr2line" % (
        path, other_file, compared))
    return compared


def check_folder(folder):
    with open(os.path.join(folder, "memtrack.metadata"), encoding="utf-8") as stream:
        metadata = json.load(stream, parse_float=lambda text: need(False, "a float: " + text))
    known = ["version", "integration", "debug_info", "mapped_process_debug_info_by_pid",
             "mapped_process_unwind_data_by_pid", "mapped_process_module_symbols",
             "path_key_to_path", "process_names", "modules"]
    need(list(metadata) == [key for key in known if key in metadata], "keys are %r" % list(metadata))
    need(metadata["version"] == 1, "version is not 1")
    integration = metadata["integration"]
    need(len(integration) == 2 and all(isinstance(part, str) for part in integration),
         "integration is %r" % integration)

    paths = metadata.get("path_key_to_path", {})
    for key, path in paths.items():
        need(re.fullmatch(r"[0-9]+__[^/]+", key), "key %r" % key)
        need(path.startswith("/") or path == "[vdso]", "path %r" % path)
    need(len(set(key.split("__")[0] for key in paths)) == len(paths), "an index is used twice")

    files = set(os.listdir(folder)) - {"memtrack.metadata"}
    symbols, unwinds = {}, {}
    for name in sorted(files):
        with open(os.path.join(folder, name), "rb") as stream:
            data = stream.read()
        if name.endswith(".symbols.map"):
            key = name[:-len(".symbols.map")]
            symbols[key] = check_symbols_form(data.decode("utf-8"), name)
        elif name.endswith(".unwind_data"):
            key = name[:-len(".unwind_data")]
            unwinds[key] = decode_unwind(data)
            need(unwinds[key]["path"] == paths.get(key), "path in " + name)
        else:
            sys.exit("check_profile_folder: what is %s?" % name)
        need(key in paths, "%s has no path" % name)

    debug = metadata.get("debug_info", {})
    need("debug_info" not in metadata or debug, "debug_info is empty, and should be left out")
    for key, info in debug.items():
        check_debug_info(info, symbols[key], key)
        need(info["object_path"] == paths[key], "object_path of " + key)

    placed = {}
    for pid, entry in check_lists(metadata, "mapped_process_module_symbols", "perf_map_key",
                                  ["load_bias", "timestamp", "avma_range"]):
        need(entry["perf_map_key"] in symbols, "no symbols for %r" % entry)
        place = (pid, entry["perf_map_key"], entry["timestamp"], entry["avma_range"]["start"])
        need(place not in placed, "%r is listed twice" % entry)
        placed[place] = entry["load_bias"]
    for pid, entry in check_lists(metadata, "mapped_process_debug_info_by_pid", "debug_info_key",
                                  ["load_bias", "timestamp", "avma_range"]):
        need(entry["debug_info_key"] in debug, "no debug info for %r" % entry)
        place = (pid, entry["debug_info_key"], entry["timestamp"], entry["avma_range"]["start"])
        need(placed.get(place) == entry["load_bias"], "load bias of %r" % entry)
    unwind_entries = check_lists(metadata, "mapped_process_unwind_data_by_pid", "unwind_data_key",
                                 ["timestamp", "avma_range", "base_avma"])
    for pid, entry in unwind_entries:
        key = entry["unwind_data_key"]
        need(key in unwinds, "no unwind data for %r" % entry)
        bias = (entry["base_avma"] - unwinds[key]["base_svma"]) & U64
        place = (pid, key, entry["timestamp"], entry["avma_range"]["start"])
        need(placed.get(place, bias) == bias, "base_avma of %r" % entry)
    for pid in metadata.get("process_names", {}):
        need(re.fullmatch(r"[1-9][0-9]*|0", pid), "process_names: pid %r" % pid)

    modules = metadata.get("modules", {})
    need("modules" not in metadata or modules, "modules is empty, and should be left out")
    for key, module in modules.items():
        need(module["path"] == paths.get(key), "path of module " + key)
        check_module_form(module, symbols.get(key), key)

    lines = 0
    for key, path in paths.items():
        if not os.path.isfile(path):
            continue
        if key in unwinds:
            check_unwind_against_file(unwinds[key], path)
        if key in modules:
            check_module_against_file(modules[key], path)
        if key in symbols:
            own = ".symtab" in sections(path)
            check_symbols_against_file(symbols[key], path, not own)
        if key in debug and ".debug_info" in sections(path):
            lines += check_lines_against_file(debug[key], path)
    print("%d modules, %d symbols, %d placements, %d located functions, %d compared lines" % (
        len(paths), sum(map(len, symbols.values())), len(unwind_entries),
        sum(len(info["debug_infos"]) for info in debug.values()), lines))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check_folder(sys.argv[1])
