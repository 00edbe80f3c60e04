#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack report --html in a real browser: markup in a name runs nothing and asks for nothing, with and without the page's
# policy; nothing is wider than a telephone; the page can be read with scripts off.  Stacks that are empty, of one entry, of
# failures only, and of a clock that went back.
set -u
. "$JOBSTACK_SOURCE/tests/lib/tap.sh"
. "$JOBSTACK_SOURCE/tests/lib/jobstack.sh"
jobstack init -q

run() { # STACK COMMAND: on the stack's entries
	timeout 300 jobstack-worker -q -s "$1" --slots 1 -- sh -c "$2" >/dev/null 2>&1
}
HIT="<img src=/hit><img src=x onerror=\"document.title='ran'\">"
MARKUP="</title></td></pre><script>document.title='ran'</script>$HIT"
long=$(printf '%0300d' 7)
jobstack push -q -s odd --max-attempts 1 "/d/$MARKUP"$'\x1b[31m\x07\x01' "/d/\"'$HIT" "/d/$long" /d/4 /d/5 /d/6 >/dev/null
MARKUP=$MARKUP run odd 'case $JOBSTACK_ENTRY in 1|3) echo "$MARKUP $JOBSTACK_DATAPATH" >&2; exit 3;; esac'
jobstack pause -q -s odd -m "$MARKUP"
jobstack push -q -s odd /d/7 >/dev/null
jobstack resume -q -s odd
run odd true
jobstack pause -q -s odd -m "$MARKUP"
sql "UPDATE worker JOIN stack USING(stack_id) SET node=CONCAT(x'$(printf %s "$HIT" | od -An -v -tx1 | tr -d ' \n')',worker_id) WHERE name='odd'"
jobstack push -q -s empty /d/1 >/dev/null
jobstack push -q -s one /d/1 >/dev/null
run one true
jobstack push -q -s bad --max-attempts 1 /d/1 /d/2 /d/3 >/dev/null
run bad 'echo no >&2; exit 4'
numbered 1 5 | jobstack push -q -s back
run back true
sql "UPDATE attempt JOIN stack USING(stack_id) SET ended=started-INTERVAL 1 HOUR WHERE name='back' AND entry_id<4"
for stack in odd empty one bad back; do
	check "the page of $stack" jobstack report "$stack" --html "$stack.html"
done
jobstack report odd empty one bad back --io --html all.html
check 'no number is negative or none' bash -c '! grep -qE "data-v=\"-?(nan|inf)|>-[0-9.]+ |width=\"-|height=\"-" ./*.html'

# A server that notes each request, and one page with all pages in frames of 390 pixels: as they are, without their policy, with
# scripts off; and a page that does what the others must not, so that we know that it would be seen.
cat >look.py <<'P'
import html, http.server, json, re, shutil, subprocess, sys, tempfile, threading
seen = []
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen.append(self.path)
        body = wrapper.encode() if self.path == "/wrapper" else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
def frame(name, text, more=""):
    return '<iframe id="%s" width="390" height="800" style="border:0" %s srcdoc="%s"></iframe>' % (name, more, html.escape(text))
pages = {n: open(n + ".html", encoding="utf-8").read() for n in ("odd", "empty", "one", "bad", "back", "all")}
frames = [frame("control", "<title>safe</title><img src=/control><p style='width:500px'>x<script>document.title='ran'</script>")]
for name, text in pages.items():
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert bare != text
    frames += [frame(name, text), frame(name + "-bare", bare), frame(name + "-off", text, 'sandbox="allow-same-origin"')]
wrapper = "<!doctype html><pre id=result></pre>" + "".join(frames) + """<script>onload=()=>{const r={};
for(const f of document.querySelectorAll('iframe')){const d=f.contentDocument,e=d.documentElement;d.querySelectorAll('details').forEach(x=>x.open=true);
r[f.id]={title:d.title,wide:e.scrollWidth,buttons:d.querySelectorAll('th button').length,tables:d.querySelectorAll('table').length,
scripts:d.querySelectorAll('script').length,images:d.querySelectorAll('img').length,words:d.body.innerText.length}}
document.getElementById('result').textContent=JSON.stringify(r)}</script>"""
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
def dom(url):
    home = tempfile.mkdtemp(dir=".")
    try:
        return subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--no-proxy-server", "--user-data-dir=" + home, "--window-size=800,800", "--dump-dom", url],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=200, check=True).stdout.decode()
    finally:
        shutil.rmtree(home, ignore_errors=True)
text = dom("http://127.0.0.1:%d/wrapper" % server.server_port)
json.dump({"seen": seen, "frame": json.loads(html.unescape(re.search("<pre id=\"result\">(.*?)</pre>", text).group(1)))}, open("look.json", "w"))
import os
text = dom("file://" + os.path.abspath("odd.html"))
open("opened.html", "w").write(text)
P
check 'the browser shows them' python3 look.py
frames() { jq -r "[.frame|to_entries[]|select(.key!=\"control\")|$1]|join(\" \")" look.json; }
is 'what runs, asks or is too wide would be seen' "$(jq -c '[.frame.control.title,.frame.control.wide,([.seen[]|select(.=="/control")]|length)]' look.json)" '["ran",508,1]'
is 'nothing else is asked for' "$(jq -c '[.seen[]|select(.!="/control" and .!="/wrapper" and .!="/favicon.ico")]' look.json)" '[]'
is 'nothing in a name runs, not even without the policy' "$(frames 'select(.value.title=="ran" or .value.scripts>1 or .value.images>0)|.key')" ''
is 'nothing is wider than 390 pixels' "$(frames 'select(.value.wide>390)|"\(.key):\(.value.wide)"')" ''
is "only the page's own script runs" "$(jq -c '.frame|[.odd,."odd-off"]|map(.buttons>0)' look.json)" '[true,false]'
is 'with scripts off it says the same' "$(jq -c '.frame|[.odd.tables==."odd-off".tables,.odd.tables>4,."odd-off".words>1000]' look.json)" '[true,true,true]'
like 'opened as a file it can be sorted' "$(cat opened.html)" '<title>odd</title>.*<button title="sort">'
finish
