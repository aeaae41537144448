"""allocators.py EVERY_CALL.C STANDIN.C - every allocator, linked in every way, started in every way.

Records testdata/allocators/every_call.c, which writes down each call that took effect, and compares
with the recording: every event of the thread, with its address and sizes, in order. Prints a row
for each allocator and way to link, a column for each way to start, and a result line for each row.
"""

import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys

EVERY_CALL, STANDIN = sys.argv[1:3]
LIB = "/usr/lib/x86_64-linux-gnu"
STARTS = ("direct", "sh", "fork", "spawn", "attach")
CFLAGS = ["-g", "-O1", "-fno-builtin", "-w"]
# More room for thread-local data of libraries opened later: jemalloc wants it.
TLS = {"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=65536"}
ATTACH_SECONDS = 30

PUBLIC = """malloc calloc realloc aligned_alloc memalign posix_memalign valloc free mallocx rallocx
	xallocx dallocx sdallocx sallocx nallocx mallctl mallctlnametomib mallctlbymib
	malloc_usable_size malloc_stats_print malloc_conf malloc_message""".split()


def run(*command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def prefixed(prefix, folder="."):
    """Debian's jemalloc as one with a prefix: the archive of it, and a library."""
    archive = os.path.abspath(f"{folder}/lib{prefix}.a")
    run("cp", f"{LIB}/libjemalloc_pic.a", archive)
    run("ar", "d", archive, "jemalloc_cpp.pic.o", "jemalloc_cpp.sym.o", "jemalloc_cpp.o")
    run("objcopy", *[f"--redefine-sym={n}={prefix}{n}" for n in PUBLIC], archive)
    library = os.path.abspath(f"{folder}/lib{prefix}.so")
    run("gcc", "-shared", "-o", library, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
        "-lm", "-lpthread", "-ldl")
    return archive, library


def standin(name, *flags):
    run("gcc", *CFLAGS, "-fPIC", *flags, "-c", "-o", name + ".o", STANDIN)
    run("gcc", "-shared", "-o", name + ".so", name + ".o")
    return os.path.abspath(name + ".o"), os.path.abspath(name + ".so")


def whole(archive):
    return ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]


def linked(*libraries):
    return ["-Wl,--no-as-needed", *libraries, "-Wl,--as-needed", "-Wl,-rpath," + os.getcwd()]


class Row:
    """An allocator and a way to link it."""

    def __init__(self, allocator, link, flags=(), kinds=(), preload="", library="", env=None,
                 compiler="gcc", has=()):
        self.allocator, self.link = allocator, link
        self.flags, self.compiler = list(flags), compiler
        self.kinds, self.has = set(kinds), set(has)
        self.args = [library] if library else []
        self.env = dict(os.environ, **(env or {}))
        if preload:
            self.env["LD_PRELOAD"] = preload
        self.cells = {}
        self.said = ""
        self.failures = []

    def name(self):
        return re.sub(r"\W+", "_", f"{self.allocator} {self.link}")

    def build(self):
        self.program = os.path.abspath("calls-" + self.name())
        run(self.compiler, *CFLAGS, "-o", self.program, EVERY_CALL, *self.flags, "-lm", "-lpthread",
            "-ldl")


def rows():
    jemalloc, tcmalloc = f"{LIB}/libjemalloc.so.2", f"{LIB}/libtcmalloc_minimal.so.4"
    mimalloc = f"{LIB}/libmimalloc.so.2"
    je_a, je_so = prefixed("je_")
    rjem_a, rjem_so = prefixed("_rjem_")
    tci_o, tci_so = standin("modern", "-DTC_INTERNAL")
    mi_o, mi_so = standin("mi", '-DPREFIX="mi_"')
    _, own_so = standin("own", '-DPREFIX=""')
    static = ["-DSTATIC", "-static"]
    pie = ["-DSTATIC", "-static-pie", "-fPIE"]
    want = ["-Wl,-u," + n for n in
            "reallocarray,aligned_alloc,posix_memalign,memalign".split(",")]
    operators = ["-Wl,-u," + n for n in
                 "_Znwm,_Znam,_ZnwmRKSt9nothrow_t,_ZnwmSt11align_val_t,_ZdlPv,_ZdlPvm,_ZdaPv".split(",")]
    cxx = operators + ["-Wl,--start-group", "-lstdc++", "-lc", "-Wl,--end-group"]
    libs_cxx = ["-lstdc++", "-lm", "-lpthread"]
    c, x = {"malloc", "calloc", "realloc", "posix_memalign", "free"}, {"mallocx", "sdallocx"}
    new = {"_Znwm", "_ZdlPvm"}
    tc, mi = {"tc_new", "tc_delete_sized"}, {"mi_zalloc", "mi_new", "mi_free_size"}

    def with_prefix(prefix, names):
        return {prefix + name for name in names}

    yield Row("glibc", "dynamic", kinds=["glibc"], has=c | {"pvalloc", "reallocarray"})
    yield Row("glibc", "dynamic C++", linked("-lstdc++"), ["glibc"], has=c | new)
    yield Row("glibc", "static", static + want, ["glibc"], has=c | {"pvalloc", "reallocarray"})
    yield Row("glibc", "static-pie", pie + want, ["glibc"], has=c | {"pvalloc", "reallocarray"})
    yield Row("glibc", "static C++", static + cxx, ["glibc"], has=c | new)
    yield Row("musl", "dynamic", compiler="musl-gcc", kinds=["musl"], has=c)
    yield Row("musl", "static", static + want, compiler="musl-gcc", kinds=["musl"],
              has={"malloc", "free", "posix_memalign"})
    yield Row("jemalloc", "dynamic", linked(jemalloc), ["jemalloc"], has=c | x | new)
    yield Row("jemalloc", "preloaded", kinds=["jemalloc"], preload=jemalloc, has=c | x | new)
    yield Row("jemalloc", "copy inside", whole(f"{LIB}/libjemalloc.a") + libs_cxx + ["-rdynamic"],
              ["jemalloc"], has=c | x | new)
    yield Row("jemalloc", "static", static + whole(f"{LIB}/libjemalloc.a") + libs_cxx,
              ["jemalloc"], has=c | x | new)
    yield Row("jemalloc", "dlopen", kinds=["jemalloc"], library=jemalloc, env=TLS, has=c | x)
    for prefix, archive, library in (("je_", je_a, je_so), ("_rjem_", rjem_a, rjem_so)):
        has = with_prefix(prefix, c | x) | {"malloc"}
        kinds = ["jemalloc", "glibc"]
        yield Row(prefix, "dynamic", linked(library), kinds, has=has)
        yield Row(prefix, "copy inside", whole(archive) + ["-rdynamic"], kinds, has=has)
        yield Row(prefix, "static", static + whole(archive), kinds, has=has)
        yield Row(prefix, "dlopen", kinds=["jemalloc"], library=library, env=TLS,
                  has=with_prefix(prefix, c | x))
    yield Row("mimalloc", "dynamic", linked(mimalloc), ["mimalloc"], has=c | new | mi)
    yield Row("mimalloc", "preloaded", kinds=["mimalloc"], preload=mimalloc, has=c | new | mi)
    yield Row("mimalloc", "dlopen", kinds=["mimalloc"], library=mimalloc, env=TLS, has=c | mi)
    has = with_prefix("mi_", c | {"cfree", "free_sized"})
    yield Row("mi_ (stand-in)", "copy inside", [mi_o, "-rdynamic"], ["mimalloc", "glibc"], has=has)
    yield Row("mi_ (stand-in)", "static", static + [mi_o], ["mimalloc", "glibc"], has=has)
    yield Row("mi_ (stand-in)", "dlopen, moved", kinds=["mimalloc"], library=mi_so, has=has)
    yield Row("tcmalloc", "dynamic", linked(tcmalloc), ["tcmalloc"], has=c | new | tc)
    yield Row("tcmalloc", "preloaded", kinds=["tcmalloc"], preload=tcmalloc, has=c | new | tc)
    archive = f"{LIB}/libtcmalloc_minimal.a"
    yield Row("tcmalloc", "copy inside", whole(archive) + libs_cxx + ["-rdynamic"],
              ["tcmalloc"], has=c | new | tc)
    yield Row("tcmalloc", "static", static + whole(archive) + libs_cxx, ["tcmalloc"],
              has=c | new | tc)
    yield Row("tcmalloc", "dlopen", kinds=["tcmalloc"], library=tcmalloc, env=TLS, has=c | tc)
    has = c | {"TCMallocInternalNew", "TCMallocInternalFreeSized"}
    yield Row("TCMallocInternal (stand-in)", "preloaded", kinds=["tcmalloc"], preload=tci_so, has=has)
    yield Row("TCMallocInternal (stand-in)", "copy inside", [tci_o, "-rdynamic"], ["tcmalloc"], has=has)
    yield Row("TCMallocInternal (stand-in)", "static", static + [tci_o], ["tcmalloc"], has=has)
    yield Row("TCMallocInternal (stand-in)", "dlopen, moved", kinds=["tcmalloc"], library=tci_so, has=has)
    yield Row("somebody's own", "preloaded", kinds=["other"], preload=own_so,
              has=c | {"recallocarray", "reallocarr", "reallocf", "freezero"})
    yield Row("jemalloc and _rjem_", "preloaded, copy inside", whole(rjem_a) + ["-rdynamic"],
              ["jemalloc"], preload=jemalloc, has=c | new | with_prefix("_rjem_", c | x))
    yield Row("mimalloc and je_", "preloaded, dynamic", linked(je_so), ["mimalloc", "jemalloc"],
              preload=mimalloc, has=c | mi | with_prefix("je_", c | x))
    yield Row("tcmalloc and glibc", "preloaded, C++", linked("-lstdc++"), ["tcmalloc"],
              preload=tcmalloc, has=c | tc | new)


def read_truth(path):
    """The thread, and its calls in runs between which others may stand."""
    runs = [[]]
    with open(path) as f:
        tid = int(f.readline().split()[1])
        for line in f:
            words = line.split()
            if words[0] == "gap":
                runs.append([])
            else:
                runs[-1].append((words[0], *map(int, words[2:])))
    return tid, runs


def read_events(path, tid):
    events = []
    dump = subprocess.run(["mt-report", "dump", "--json", path], capture_output=True, text=True)
    for line in dump.stdout.splitlines():
        e = json.loads(line)
        if e.get("tid") == tid and "addr" in e:
            events.append((e["type"], e["addr"], e.get("size", 0), e.get("align", 0),
                           e.get("old_addr", 0)))
    return events


def replay(path):
    """Calls that allocated, bytes that they asked for, and calls of free, of all threads."""
    totals = [0, 0, 0]
    dump = subprocess.run(["mt-report", "dump", "--json", path], capture_output=True, text=True)
    for line in dump.stdout.splitlines():
        e = json.loads(line)
        if e["type"] in ("malloc", "calloc", "realloc", "aligned"):
            totals[0] += 1
            totals[1] += e["size"]
        elif e["type"] == "free":
            totals[2] += 1
    return totals


def compare(tid, runs, events):
    """What is wrong with the events, as text; how many there are."""
    at = 0
    for number, calls in enumerate(runs):
        try:
            at = events.index(calls[0], at)
        except ValueError:
            return f"run {number} does not begin", 0
        got = events[at:at + len(calls)]
        if got != calls:
            bad = next((i for i, (a, b) in enumerate(zip(got, calls)) if a != b), len(got))
            missing = collections.Counter(calls) - collections.Counter(events[at:])
            extra = len(events) - at - len(calls)
            return (f"call {bad}: want {calls[bad]}, got {got[bad:bad + 1]}; "
                    f"{missing.total()} missing, {extra} more than calls"), 0
        at += len(calls)
    return "", sum(map(len, runs))


def wait_for(path, process):
    """Until the recorder has begun to write: then all is probed."""
    for _ in range(ATTACH_SECONDS * 100):
        if os.path.exists(path) and os.path.getsize(path):
            return
        try:
            raise RuntimeError(f"mt-record ended with {process.wait(0.01)}")
        except subprocess.TimeoutExpired:
            pass
    raise RuntimeError(f"{path} stays empty")


def record(row, start, base):
    """The program's output."""
    program = [row.program, base + ".truth"]
    recorder = ["mt-record", "-q", "-o", base + ".mt", "--stack-size", "64"]
    if start != "attach":
        commands = {
            "direct": program + ["now", *row.args],
            "sh": ["sh", "-c", '"$0" "$@"; exit $?', *program, "now", *row.args],
            "fork": program + ["fork", *row.args],
            "spawn": ["/usr/bin/python3", "-ISc", "import subprocess, sys\n"
                      "sys.exit(subprocess.run(sys.argv[1:]).returncode)", *program, "now", *row.args],
        }
        if row.env.get("LD_PRELOAD") and start in ("sh", "spawn"):
            # The allocator is for the program alone.
            i = commands[start].index(row.program)
            commands[start][i:i] = ["env", "LD_PRELOAD=" + row.env["LD_PRELOAD"]]
            env = dict(row.env)
            del env["LD_PRELOAD"]
            return run(*recorder, "--", *commands[start], env=env)
        # Of the recorder's own environment, only what the command shall have.
        return run(*recorder, "--", *commands[start], env=row.env)
    with open(base + ".out", "w+") as out, open(base + ".log", "w") as log:
        target = subprocess.Popen([*program, "wait", *row.args], env=row.env, stdin=subprocess.PIPE,
                                  stdout=out)
        recorder = subprocess.Popen([*recorder, "-p", str(target.pid)], stderr=log)
        try:
            wait_for(base + ".mt", recorder)
            target.communicate(b"\n", timeout=ATTACH_SECONDS)
            status = recorder.wait(ATTACH_SECONDS)
        finally:
            for process in (target, recorder):
                if process.poll() is None:
                    process.terminate()
                process.wait()
        if status or target.returncode:
            with open(base + ".log") as f:
                raise RuntimeError(f"status {status}, {target.returncode}: {f.read()[-300:]}")
        out.seek(0)
        return out.read()


def examine_stat(row, start, base):
    """What is wrong with the totals is raised."""
    stat = json.loads(subprocess.run(["mt-report", "stat", "--json", base + ".mt"],
                                     capture_output=True, text=True).stdout)
    kinds = {a["kind"] for a in stat["allocators"] if a["events"]}
    if not row.kinds <= kinds:
        raise RuntimeError(f"allocators are {kinds}")
    if sum(stat["lost"].values()) or stat["coverage_gaps"]:
        raise RuntimeError(f"lost {stat['lost']}, gaps {stat['coverage_gaps']}")
    if stat["conflicts"]:
        raise RuntimeError(f"{stat['conflicts']} blocks at the place of a live one")
    if start != "attach" and stat["unmatched_frees"]:
        raise RuntimeError(f"{stat['unmatched_frees']} unmatched frees")
    totals = [stat["allocations"], stat["allocated_bytes"],
              stat["frees"] + stat["thread_cache_frees"]]
    replayed = replay(base + ".mt")
    if totals != replayed:
        raise RuntimeError(f"totals {totals}, of the events {replayed}")


def examine(row, start, base):
    """A cell's figure."""
    said = record(row, start, base)
    if start == "direct":
        row.said = said
    lacking = row.has - {line.split()[0] for line in said.splitlines() if line}
    if lacking:
        raise RuntimeError(f"not called: {sorted(lacking)}")
    if row.link.endswith("moved") and "# moved 1" not in said:
        raise RuntimeError("the library did not move")
    tid, runs = read_truth(base + ".truth")
    wrong, n = compare(tid, runs, read_events(base + ".mt", tid))
    if wrong:
        raise RuntimeError(wrong)
    examine_stat(row, start, base)
    return n


def examine_row(row, starts=STARTS, examine=examine):
    try:
        row.build()
    except RuntimeError as e:
        row.failures.append(str(e))
        return row
    for start in starts:
        base = os.path.abspath(f"{row.name()}-{start}")
        try:
            row.cells[start] = examine(row, start, base)
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as e:
            row.failures.append(f"{start}: {e}")
    os.unlink(row.program)
    return row


def main():
    only = sys.argv[3:]
    table = [r for r in rows() if not only or r.allocator in only]
    form = "{:28} {:24} {:>9}" + " {:>7}" * len(STARTS)
    print("    " + form.format("allocator", "linked", "functions", *STARTS))
    results = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row in pool.map(examine_row, table):
            cells = [row.cells.get(s, "FAIL") for s in STARTS]
            called = {line.split()[0] for line in row.said.splitlines() if line[:1] != "#"}
            print("    " + form.format(row.allocator, row.link, len(called), *cells), flush=True)
            name = f"{row.allocator}, {row.link}: every call once"
            results.append(f"not ok {name} - {'; '.join(row.failures)}" if row.failures
                           else f"ok {name}")
    print("\n".join(results))


if __name__ == "__main__":
    main()
