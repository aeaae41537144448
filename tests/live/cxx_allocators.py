"""cxx_allocators.py CXX_THREADS.CC CXX_OVER.CC FIND_OBJECT.C STANDIN.C - the second program of the table.

Records testdata/allocators/cxx_threads.cc, seven threads with every form of operator new and
delete, over every allocator that a C++ program can have them over, and compares each thread's
events with what it wrote down. Prints as allocators.py does, of which this has its means.
"""

import concurrent.futures
import os
import re
import sys

CXX_THREADS, CXX_OVER, FIND_OBJECT, STANDIN = sys.argv[1:5]
sys.argv[1:] = ["", STANDIN]
import allocators  # noqa: E402
from allocators import LIB, Row, linked, prefixed, run, standin, whole  # noqa: E402

STARTS = ("direct", "attach")
THREADS = 7
CXXFLAGS = ["-g", "-O1", "-std=c++17", "-Wall", "-fno-builtin", "-pthread"]


class CxxRow(Row):
    """names: the allocator's malloc, aligned_alloc and free, if the operators are to be over them."""

    def __init__(self, allocator, link, flags=(), names=None, fails=True, **kwargs):
        super().__init__(allocator, link, flags, **kwargs)
        self.names, self.fails = names, fails

    def name(self):
        return "cxx_" + super().name()

    def build(self):
        self.program = os.path.abspath("calls-" + self.name())
        flags = CXXFLAGS + ([] if self.fails else ["-DNO_FAILURE"])
        if self.compiler == "musl-gcc":
            self.build_musl(flags)
            return
        over = []
        if self.names:
            over = [f"-D{n}={f}" for n, f in zip(("MALLOC", "ALIGNED", "FREE"), self.names)]
            over += ["-DALL_FORMS", CXX_OVER]
        run("g++", *flags, "-o", self.program, CXX_THREADS, *over, *self.flags, "-ldl")

    def build_musl(self, flags):
        """libstdc++ is built for glibc alone, but its runtime does, with one function more."""
        base = self.name()
        run("g++", *flags, "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-c", "-o", base + ".o",
            CXX_THREADS)
        run("musl-gcc", "-O1", "-Wall", "-c", "-o", base + "-find.o", FIND_OBJECT)
        run("musl-gcc", *self.flags, "-Wl,--eh-frame-hdr", "-o", self.program, base + ".o",
            base + "-find.o", run("g++", "-print-file-name=libsupc++.a").strip(),
            run("g++", "-print-file-name=libgcc_eh.a").strip())


def rows():
    jemalloc, tcmalloc = f"{LIB}/libjemalloc.so.2", f"{LIB}/libtcmalloc_minimal.so.4"
    mimalloc = f"{LIB}/libmimalloc.so.2"
    mi_o, _ = standin("cxx-mi", '-DPREFIX="mi_"')
    tci_o, tci_so = standin("cxx-modern", "-DTC_INTERNAL")
    _, own_so = standin("cxx-own", '-DPREFIX=""')
    pie = ["-static-pie", "-fPIE"]

    def names(prefix):
        return [prefix + n for n in ("malloc", "aligned_alloc", "free")]

    yield CxxRow("glibc", "dynamic", kinds=["glibc"])
    yield CxxRow("glibc", "static", ["-static"], kinds=["glibc"])
    yield CxxRow("glibc", "static-pie", pie, kinds=["glibc"])
    yield CxxRow("musl", "dynamic", compiler="musl-gcc", kinds=["musl"])
    yield CxxRow("musl", "static", ["-static"], compiler="musl-gcc", kinds=["musl"])
    for name, library in (("jemalloc", jemalloc), ("tcmalloc", tcmalloc)):
        archive = whole(f"{LIB}/lib{'jemalloc' if name == 'jemalloc' else 'tcmalloc_minimal'}.a")
        yield CxxRow(name, "dynamic", linked(library), kinds=[name])
        yield CxxRow(name, "preloaded", preload=library, kinds=[name])
        yield CxxRow(name, "copy inside", archive, kinds=[name])
        yield CxxRow(name, "static", [*archive, "-static"], kinds=[name])
    # Debian's neither throws nor knows of handlers: it ends the program.
    yield CxxRow("mimalloc", "dynamic", linked(mimalloc), fails=False, kinds=["mimalloc"])
    yield CxxRow("mimalloc", "preloaded", preload=mimalloc, fails=False, kinds=["mimalloc"])
    yield CxxRow("mimalloc", "preloaded, operators over", preload=mimalloc, names=names(""),
                 kinds=["mimalloc"])
    for prefix in ("je_", "_rjem_"):
        os.makedirs("cxx" + prefix, exist_ok=True)
        archive, library = prefixed(prefix, "cxx" + prefix)
        yield CxxRow(prefix, "dynamic, operators over", linked(library), names(prefix),
                     kinds=["jemalloc"])
        yield CxxRow(prefix, "copy inside, operators over", whole(archive), names(prefix),
                     kinds=["jemalloc"])
        yield CxxRow(prefix, "static, operators over", [*whole(archive), "-static"],
                     names(prefix), kinds=["jemalloc"])
    yield CxxRow("mi_ (stand-in)", "copy inside, operators over", [mi_o], names("mi_"),
                 kinds=["mimalloc"])
    yield CxxRow("TCMallocInternal (stand-in)", "copy inside", [tci_o], kinds=["tcmalloc"])
    yield CxxRow("TCMallocInternal (stand-in)", "preloaded", preload=tci_so, kinds=["tcmalloc"])
    yield CxxRow("somebody's own", "preloaded", preload=own_so, kinds=["other"])


def compare(row, number, base):
    """What is wrong with a thread's events; how many calls it wrote down."""
    tid, runs = allocators.read_truth(f"{base}.truth.{number}")
    runs = [r for r in runs if r]
    events = allocators.read_events(base + ".mt", tid)
    wrong, n = allocators.compare(tid, runs, events)
    # As it ends, glibc gives back what it kept for the thread.
    calls = [e for i, e in enumerate(events) if i < n or e[0] != "free"]
    if not wrong and (number % 2 or not row.fails) and len(calls) != n:
        wrong = f"{len(calls)} events, {n} calls"
    return wrong and f"thread {number}: {wrong}", n


def examine(row, start, base):
    """A cell's figure."""
    allocators.record(row, start, base)
    total = 0
    for number in range(THREADS):
        wrong, n = compare(row, number, base)
        if wrong:
            raise RuntimeError(wrong)
        total += n
    allocators.examine_stat(row, start, base)
    return total


def examine_row(row):
    return allocators.examine_row(row, STARTS, examine)


def main():
    form = "{:28} {:28}" + " {:>7}" * len(STARTS)
    print("    " + form.format("C++ over", "linked", *STARTS))
    results = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row in pool.map(examine_row, list(rows())):
            cells = [row.cells.get(s, "FAIL") for s in STARTS]
            print("    " + form.format(row.allocator, row.link, *cells), flush=True)
            name = f"C++ over {row.allocator}, {row.link}: every call once"
            failed = re.sub(r"\s+", " ", "; ".join(row.failures))
            results.append(f"not ok {name} - {failed}" if failed else f"ok {name}")
    print("\n".join(results))


main()
