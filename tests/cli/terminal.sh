# On a terminal: colour unless NO_COLOR says otherwise, progress that leaves nothing behind,
# problems told once. Never in a pipe.
/usr/bin/python3 - "$TESTDATA/golden/tree.mt" <<'PY'
import os, pty, re, sys

def run(*args, **env):
    pid, fd = pty.fork()
    if not pid:
        os.environ.update(env)
        os.execvp("mt-report", ["mt-report", *(args or ("top", "-n", "1")), sys.argv[1]])
    out = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        out += piece
    os.waitpid(pid, 0)
    return out.decode()

def shown(text):
    """What stays on the screen."""
    text = re.sub(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)", "", text).replace("\r\x1b[K", "")
    return re.sub(r"\x1b\[\d*m", "", text).replace("\r\n", "\n")

colour, plain, dumb = run(TERM="xterm"), run(TERM="xterm", NO_COLOR="1"), run(TERM="dumb")
print("colour", "\x1b[1m" in colour, "\x1b[1m" in plain, "\x1b" in dumb)
print("progress", *re.findall(r"mt-report: ([a-z ]+)\.\.\.", colour), sep="\n  ")
print("progress", "..." in dumb)
for args in ("check",), ("pack", "-o", "pack"):
    text = run(*args, TERM="xterm")
    print(args[0], re.findall(r"mt-report: ([a-z ]+)\.\.\.", text)[-1], "..." in shown(text))
print("the same stays", shown(colour) == shown(plain) == shown(dumb))
print("problems told once", shown(colour).count("refused"))
PY
mt-report top -n 1 "$TESTDATA/golden/tree.mt" 2>&1 | grep -c "$(printf '\033')"
