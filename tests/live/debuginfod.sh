#!/bin/bash
# Files from a debuginfod server: asked for by build-id, verified, failures told and remembered.
# shellcheck source=tests/live/lib.sh
. "$LIVE/lib.sh"

export HOME=$PWD DEBUGINFOD_CACHE_PATH=$PWD/cache
unset DEBUGINFOD_URLS DEBUGINFOD_TIMEOUT XDG_CACHE_HOME

cp "$WORKLOADS/cpp_nofp" prog
cp prog whole
id=$(readelf -n prog | sed -n 's/.*Build ID: //p')
strip prog
mkdir -p "web/buildid/$id"
cp whole "web/buildid/$id/debuginfo"
cp prog "web/buildid/$id/executable"

# A server on a port that the kernel chooses; it logs each request.
cat >server.py <<'PY'
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, form, *args):
        with open("requests", "a") as f:
            f.write(form % args + "\n")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                         functools.partial(Handler, directory="web"))
with open("port.new", "w") as f:
    f.write(str(server.server_address[1]))
import os
os.rename("port.new", "port")
server.serve_forever()
PY
/usr/bin/python3 server.py &
server=$!
trap 'kill "$server" 2>/dev/null; tally_end' EXIT
until_true 10 [ -e port ]
url=http://127.0.0.1:$(cat port)/

record recorded ./prog
asked()
{
	grep -c "$1" requests 2>/dev/null
}

mt-report top -n 0 run.mt >top.txt 2>top.err
is 'not asked without being told to' "$(asked .)" ''
matches 'no lines then' top.txt '_Z|prog\+0x|  prog$'
mt-report top -n 0 --debuginfod "$url" run.mt >top.txt 2>top.err
matches 'lines from the server' top.txt 'cpp_nofp\.cc:[0-9]+'
is 'asked once for it' "$(asked "GET /buildid/$id/debuginfo")" 1
is 'not asked for what is here' "$(asked "GET /buildid/$id/executable")" 0
cp top.txt first.txt
mt-report top -n 0 --debuginfod "$url" run.mt >top.txt 2>top.err
is 'kept: the same' "$(cmp first.txt top.txt 2>&1)" ''
is 'kept: not asked again' "$(asked "GET /buildid/$id/debuginfo")" 1
libc=$(asked 'GET /buildid/.*/debuginfo.* 404')
DEBUGINFOD_URLS=$url mt-report top -n 0 run.mt >top.txt 2>top.err
is 'by the environment: the same' "$(cmp first.txt top.txt 2>&1)" ''
is 'what it did not have is remembered' "$(asked 'GET /buildid/.*/debuginfo.* 404')" "$libc"

# A pack has what the server gave.
mt-report pack --debuginfod "$url" -o run.mtp run.mt 2>/dev/null
mt-report top -n 0 run.mtp >top.txt 2>top.err
matches 'a pack: lines without the server' top.txt 'cpp_nofp\.cc:[0-9]+'

# The program itself, when it is gone here.
mv prog gone
mt-report top -n 0 run.mt >top.txt 2>top.err
is 'gone: status' $? 1
matches 'gone: refused' top.err 'prog: refused \(gone\)'
mt-report top -n 0 --debuginfod "$url" run.mt >top.txt 2>top.err
matches 'gone: from the server' top.txt 'cpp_nofp\.cc:[0-9]+'
is 'gone: no word of it' "$(grep -c 'prog: refused' top.err)" 0
mv gone prog

# Another file under that build-id is not taken.
rm -rf cache
cp /bin/true "web/buildid/$id/debuginfo"
mt-report top -n 0 --debuginfod "$url" run.mt >top.txt 2>top.err
is 'another file: not used' "$(grep -c 'cpp_nofp\.cc' top.txt)" 0

# No server at all: told, and not asked for each module.
rm -rf cache
begin=$SECONDS
mt-report top -n 0 --debuginfod http://127.0.0.1:1/ run.mt >top.txt 2>top.err
is 'no server: status' $? 1
matches 'no server: told' top.err 'debuginfod servers are not asked any more: '
is 'no server: once' "$(grep -c debuginfod top.err)" 1
# One that never answers.
rm -rf cache
cat >silent.py <<'PY'
import os, socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(64)
open("silent.new", "w").write(str(s.getsockname()[1])); os.rename("silent.new", "silent")
held = []
while True:
    held.append(s.accept())
PY
kill "$server"
/usr/bin/python3 silent.py &
server=$!
until_true 10 [ -e silent ]
begin=$SECONDS
DEBUGINFOD_TIMEOUT=2 mt-report top -n 0 --debuginfod "http://127.0.0.1:$(cat silent)/" run.mt >top.txt 2>top.err
matches 'silent: told' top.err 'debuginfod servers are not asked any more: '
is 'silent: not for long' "$((SECONDS - begin < 15))" 1
