#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# jobstack report --html in a real browser: markup in a name runs nothing and asks for nothing, with and without the page's
# policy; nothing is wider than a telephone; with scripts off it says that it needs them.  Stacks that are empty, of one entry, of
# failures only, of a clock that went back, of ten entries and of very many; light and dark.
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
# Ten entries; and very many, with markup wherever a word may come from, names of any length, and all figures at their largest.
numbered 1 10 | jobstack push -q -s ten
run ten 'head -c 100000 /dev/zero'
numbered 1 20000 | jobstack push -q -s long
x() { printf "CONCAT(x'%s',n)" "$(printf %s "$HIT" | od -An -v -tx1 | tr -d ' \n')"; }
ID=$(sql "SELECT stack_id FROM stack WHERE name='long'")
N="(SELECT entry_id n FROM entry WHERE stack_id=$ID AND entry_id<=60) n"
sql "INSERT INTO worker(token,stack_id,kind,started,beat,lease_us,ended,slots,node,user,identity) SELECT UNHEX(LEFT(SHA2(n,224),32)),$ID,0,'2026-11-01','2026-11-01',1,
	'2026-11-02',4,$(x),$(x),'{\"platform\":1}' FROM $N;
SET @w=(SELECT MIN(worker_id) FROM worker WHERE stack_id=$ID);
UPDATE entry SET datapath=REPEAT(x'22',4096) WHERE stack_id=$ID AND entry_id%100=0;
INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,cause,exit_code,reason,started,ended,user_us,system_us,maxrss_kib,peak_kib,read_bytes,write_bytes,program,
	mount,packages,err_tail) SELECT $ID,n,1,@w+n%60,o,o=0,IF(o=1,1,IF(o=2,17,NULL)),IF(o=0,0,1+n DIV 7%20),IF(o=2,$(x),NULL),'2026-10-01'+INTERVAL n*123 SECOND,'2026-10-01'+INTERVAL n*123+IF(n%100=0,9999,n%977)
	SECOND,9,9,n,2*n,POW(4,n%16)*400,POW(4,n DIV 16%16)*400,1+n%16,1+n%16,1+n%16,IF(o=1,CONCAT($(x),REPEAT('&',3000)),NULL)
	FROM (SELECT entry_id n,IF(entry_id%7=0,1+entry_id%14/7,0) o FROM entry WHERE stack_id=$ID) t;
INSERT INTO set_aside(stack_id,entry_id,attempt,\`rank\`) SELECT stack_id,entry_id,1,0 FROM attempt WHERE stack_id=$ID AND final=0;
DELETE FROM span WHERE stack_id=$ID;
UPDATE stack SET done=(SELECT COUNT(*) FROM attempt WHERE stack_id=$ID AND final=1),dead=tail-done WHERE stack_id=$ID;
INSERT INTO fact SELECT $ID,0,n,'2026-11-01',CONCAT('version ',$(x),REPEAT('<',3000)) FROM $N WHERE n<=16;
INSERT INTO fact SELECT $ID,1,n,'2026-11-01',$(x) FROM $N WHERE n<=16;
INSERT INTO fact SELECT $ID,2,n,'2026-11-01',CONCAT($(x),REPEAT(x'22',3000)) FROM $N;
INSERT INTO fact SELECT $ID,3,n,'2026-11-01',CONCAT(n,$(x),' ',$(x)) FROM $N WHERE n<=16"
for stack in odd empty one bad back ten long; do
	check "the page of $stack" jobstack report "$stack" --html "$stack.html"
done
jobstack report odd empty one bad back --io --html all.html
size=$(stat -c %s long.html)
check "a very long one has 300 kB at most: $size bytes" test "$size" -lt 300000

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
def frame(name, text, more="", wide=390):
    return '<iframe id="%s" width="%d" height="800" style="border:0" %s srcdoc="%s"></iframe>' % (name, wide, more, html.escape(text))
pages = {n: open(n + ".html", encoding="utf-8").read() for n in ("odd", "empty", "one", "bad", "back", "ten", "long", "all")}
frames = [frame("control", "<title>safe</title><img src=/control><p style='width:500px'>x<script>document.title='ran'</script>")]
for name, text in pages.items():
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert bare != text
    frames += [frame(name, text), frame(name + "-bare", bare), frame(name + "-off", text, 'sandbox="allow-same-origin"')]
both = [frame(name + str(wide), pages[name], "", wide) for name in ("ten", "long") for wide in (390, 1280)]
frames += both
page = "<!doctype html><pre id=result></pre>" + "%s" + """<script>onload=()=>{const r={};
for(const f of document.querySelectorAll('iframe')){const d=f.contentDocument,e=d.documentElement;
r[f.id]={title:d.title,wide:e.scrollWidth,buttons:d.querySelectorAll('th button').length,tables:d.querySelectorAll('table').length,
scripts:d.querySelectorAll('script').length,images:d.querySelectorAll('img').length,words:d.body.innerText.slice(0,200),
headings:[...d.querySelectorAll('h2')].map(e=>e.textContent),cells:[...d.querySelectorAll('td')].map(e=>e.textContent),
paper:getComputedStyle(d.body).backgroundColor,ink:getComputedStyle(d.body).color}}
document.getElementById('result').textContent=JSON.stringify(r)}</script>"""
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
def dom(url, *more):
    home = tempfile.mkdtemp(dir=".")
    try:
        return subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--no-proxy-server", "--user-data-dir=" + home, "--window-size=800,800", "--dump-dom", *more, url],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=200, check=True).stdout.decode()
    finally:
        shutil.rmtree(home, ignore_errors=True)
def look(frames, *more):
    global wrapper
    wrapper = page.replace("%s", "".join(frames))
    text = dom("http://127.0.0.1:%d/wrapper" % server.server_port, *more)
    return json.loads(html.unescape(re.search("<pre id=\"result\">(.*?)</pre>", text).group(1)))
light, dark = look(frames), look(both, "--blink-settings=preferredColorScheme=0")
json.dump({"seen": seen, "frame": light, "dark": dark}, open("look.json", "w"))
import os
text = dom("file://" + os.path.abspath("odd.html"))
open("opened.html", "w").write(text)
P
check 'the browser shows them' python3 look.py
frames() { jq -r "[.frame|to_entries[]|select(.key!=\"control\")|$1]|join(\" \")" look.json; }
is 'what runs, asks or is too wide would be seen' "$(jq -c '[.frame.control.title,.frame.control.wide,([.seen[]|select(.=="/control")]|length)]' look.json)" '["ran",508,1]'
is 'nothing else is asked for' "$(jq -c '[.seen[]|select(.!="/control" and .!="/wrapper" and .!="/favicon.ico")]' look.json)" '[]'
is 'nothing in a name runs, not even without the policy' "$(frames 'select(.value.title=="ran" or .value.scripts>2 or .value.images>0)|.key')" ''
is 'nothing is wider than 390 pixels, or 1280' "$(frames 'select(.value.wide>(if .key|endswith("1280") then 1280 else 390 end))|"\(.key):\(.value.wide)"')" ''
is 'light, and dark where the browser is' "$(jq -c '[.frame,.dark|[.ten390,.ten1280,.long390,.long1280]|map([.paper,.ink])|unique]' look.json)" \
	'[[["rgb(255, 255, 255)","rgb(27, 27, 27)"]],[["rgb(22, 24, 26)","rgb(232, 232, 232)"]]]'
is "only the page's own script runs" "$(jq -c '.frame|[.odd,."odd-off"]|map(.buttons>0)' look.json)" '[true,false]'
like 'with scripts off it says that it needs them' "$(jq -r '.frame."odd-off".words' look.json)" '^This page needs JavaScript to show its figures'
headings() { jq -r ".frame.\"$1\".headings|join(\";\")" look.json; }
is 'a very long one has all figures' "$(headings long)" "Why entries are dead;For the next run;Over time;Busy slots, by node and time;How long the entries took;The slowest attempts;\
Wasted time, by cause;Nodes;Hours of the day;Programs and their versions;File systems;Bytes read against bytes written;Memory and CPU;Python packages;For the methods section of a paper"
is 'figures of one group are left out' "$(headings one)" 'For the next run;Memory and CPU;For the methods section of a paper'
like 'several have a table of all, and the findings' "$(headings all)" '^Stacks and programs;.*;Ten findings about reading and writing;Time between runs on the same file$'
is 'no number is negative or none' "$(jq -r '.frame|to_entries[]|select(.key!="control")|.value.cells[]|select(test("NaN|Infinity|undefined|null|^-[0-9]|object"))' look.json)" ''
is 'a name is shown as it is, what can not be seen as \x' "$(jq -r '.frame.odd.cells[]|select(startswith("/d/</title>"))' look.json)" \
	"/d/$MARKUP\\x1b[31m\\x07\\x01"
like 'opened as a file it can be sorted' "$(cat opened.html)" '<title>odd</title>.*<button title="sort">'
finish
