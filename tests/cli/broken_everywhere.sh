# An artifact cut, and its bytes flipped, in many places (t_broken does it in all): never a
# crash, never another result without a warning. (Without its seek table a file is whole.)
/usr/bin/python3 - "$TESTDATA/golden/odd.mt" <<'PY'
import subprocess, sys

data = open(sys.argv[1], "rb").read()

def run(content):
    with open("broken.mt", "wb") as f:
        f.write(content)
    return subprocess.run(["mt-report", "folded", "--by", "bytes", "broken.mt"],
                          capture_output=True)

def check(what, content):
    got = run(content)
    warned = any(word in got.stderr for word in (b"cut", b"damaged", b"not finished", b"passed over"))
    if got.returncode not in (1, 2):
        print(what, "status", got.returncode, got.stderr.decode())
    elif got.returncode == 2 and (got.stdout or got.stderr.count(b"\n") != 1):
        print(what, "no result, but", got.stdout, got.stderr)
    elif got.returncode == 1 and not warned and got.stdout != whole:
        print(what, "another result, but", got.stderr.decode())

whole = run(data).stdout
for i in range(0, len(data), 11):
    check(f"cut at {i}:", data[:i])
    check(f"flipped {i}:", data[:i] + bytes([data[i] ^ 0xff]) + data[i + 1:])
print(len(whole) > 0)
PY
