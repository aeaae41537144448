"""sampling.py N SAMPLED.folded... - are the estimates of sampled recordings what they should be?

Each file has "folded" by bytes, count and live, one after the other, each line with the weight's
name in front: of testdata/workloads/sampled.c, with N bytes between samples; exact.folded is the
same of a recording of everything. Estimates of each function's totals have to lie within 5 standard
deviations of the truth, as the sizes of its blocks give them, and a little more where few blocks are
taken, as the distribution is skew then; so has their mean over all files.
"""
import math
import re
import sys

SMALL, LARGE, GROWN, THREADS, THREAD_BLOCKS = 60000, 400, 3000, 2, 20000
# Function: sizes of all its blocks, and of those that are never freed. A block that grows or
# shrinks is of the function that did it last.
SIZES = {
    "take_small": ([24 + i % 64 for i in range(SMALL)],
                   [24 + i % 64 for i in range(0, SMALL, 8)]),
    "take_large": ([100000 + 997 * i for i in range(LARGE)],
                   [100000 + 997 * i for i in range(0, LARGE, 10)]),
    "take_first": ([64 + i % 32 for i in range(GROWN)], []),
    "take_grown": ([4096 + i for i in range(GROWN)], []),
    "take_shrunk": ([700 + i % 100 for i in range(0, GROWN, 2)],
                    [700 + i % 100 for i in range(0, GROWN, 4)]),
    "take_in_thread": ([192 + i % 512 for i in range(THREAD_BLOCKS)] * THREADS, []),
}
SIZES["all"] = (sum((all_of for all_of, _ in SIZES.values()), []),
                sum((kept for _, kept in SIZES.values()), []))


def truth(by, function):
    sizes, kept = SIZES[function]
    sizes = kept if by == "live" else sizes
    return len(sizes) if by == "count" else sum(sizes)


def deviation(by, function, n):
    """Of a sum over blocks of size s, each with the probability p: weights are 1 / p."""
    sizes, kept = SIZES[function]
    total = 0.0
    for s in kept if by == "live" else sizes:
        value = 1 if by == "count" else s
        total += value * value * math.exp(-s / n) / -math.expm1(-s / n)
    return math.sqrt(total)


def taken(by, function, n):
    """How many blocks one expects to be taken."""
    sizes, kept = SIZES[function]
    return sum(-math.expm1(-s / n) for s in (kept if by == "live" else sizes))


def width(sigma, expected):
    return (5 + 4 / math.sqrt(expected)) * sigma if expected else 0


def read(path):
    sums = {}
    for line in open(path):
        by, stack, number = re.match(r"(\w+) (.*) (\d+)$", line).groups()
        found = re.search(r";(take_\w+)", stack)
        if found:
            for function in (found.group(1), "all"):
                sums[by, function] = sums.get((by, function), 0) + int(number)
    return sums


def main(n, files):
    bad = 0
    exact = read("exact.folded")
    sampled = [read(path) for path in files]
    for function in SIZES:
        for by in ("bytes", "count", "live"):
            want, sigma = truth(by, function), deviation(by, function, n)
            if exact.get((by, function), 0) != want:
                print("exact %s of %s: %d, not %d" % (by, function,
                                                      exact.get((by, function), 0), want))
                bad += 1
            # Each event's weight is rounded once.
            slack = 1 + 1e-9 * want + len(SIZES[function][0]) / 131072
            got = [sums.get((by, function), 0) for sums in sampled]
            mean = sum(got) / len(got)
            few = taken(by, function, n)
            bounds = [(value, width(sigma, few)) for value in got]
            bounds += [(mean, width(sigma, few * len(got)) / math.sqrt(len(got)))]
            for value, bound in bounds:
                if abs(value - want) > bound + slack:
                    print("%s of %s: %.0f is further than %.0f from %d" % (
                        by, function, value, bound, want))
                    bad += 1
            if sigma:
                print("note N=%d %s of %s: %d, sigma %.2f %%, mean off by %+.2f of its sigma" % (
                    n, by, function, want, 100 * sigma / want,
                    (mean - want) / sigma * math.sqrt(len(got))))
    return bad != 0


sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
