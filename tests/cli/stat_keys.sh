# Every key of stat --json is in the man page, and every one that the man page lists is printed.
for name in tree lost killed marks regions sampled none; do
	mt-report stat --json "$TESTDATA/golden/$name.mt" >"$name.json" 2>/dev/null
done
python3 - "$TOP/man/mt-report.1" ./*.json <<'END'
import json, re, sys

page = open(sys.argv[1]).read()
section = page[page.index(".Cm stat\nhas:\n"):page.index("Each line of\n.Cm dump\n")]
listed = re.findall(r"^\.It Li (.*)", section, re.M)
listed = {word for line in listed for word in line.split() if word != ","}
# Besides these, words in the text: keys of what is inside. Ends of stacks have a list of their own.
named = set(re.findall(r"\w+", " ".join(re.findall(r"\bLi ([^\n]*)", page))))

def inner(value):
    if isinstance(value, list):
        return {key for v in value for key in inner(v)}
    if isinstance(value, dict):
        return set(value).union(*map(inner, value.values()))
    return set()

top, inside = set(), set()
for path in sys.argv[2:]:
    stat = json.load(open(path, encoding="utf-8", errors="replace"))
    top |= set(stat)
    # Its keys are sources, of which the file's format has the list.
    stat.pop("lost")
    inside |= inner(stat)
print("not listed:", *sorted(top - listed))
print("not printed:", *sorted(listed - top))
print("not named:", *sorted(inside - named))
print(len(listed) > 40, len(inside) > 70)
END
