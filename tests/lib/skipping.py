# SPDX-License-Identifier: BSD-2-Clause
"""skipping.py TO: a proxy to the server at the local port TO, which skips statements, as a MariaDB does whose query is killed at
the wrong moment.  It listens on a free port, and writes the number into the file "port".

In each packet it replaces one UPDATE or DELETE of a transaction by "DO 0": the one that it has skipped least often.  Statements
that differ only in their values count as one.  Each is skipped until one of the server's guards stops its transaction, at most
30 times: once is not enough, since an IF may pass over it.  Each time adds a line to the file "skipped": "noticed" or
"unnoticed", a tab, the statement."""
import os
import re
import select
import socket
import sys
import threading

STATEMENT = re.compile(rb"(?<=[; ])(?<!KEY )(?<!FOR )(?:UPDATE|DELETE) [^;]*(?=;)")
VALUES = re.compile(rb"(?:(?:x'[0-9A-F]*'|'[^']*'|\b[0-9]+\b)[,()]*)+")
GUARD = b"\x9a\x06#22003"  # error 1690
MOST = 30
lock = threading.Lock()
times = {}
out = open("skipped", "ab", buffering=0)


def packet(data):
	"""The length of the first packet in DATA, or 0 if it is not complete yet."""
	if len(data) < 4:
		return 0
	n = 4 + int.from_bytes(data[:3], "little")
	return n if len(data) >= n else 0


def skip(data):
	"""The packet without one of its statements, and the text of that one."""
	if data[3:5] != b"\x00\x03" or data[5:].startswith(b"PREPARE ") or b"START TRANSACTION" not in data:
		return data, None
	with lock:
		shape, found = min(((VALUES.sub(b"N", f[0]), f) for f in STATEMENT.finditer(data)), default=(None, None),
				   key=lambda s: times.get(s[0], 0))
		if found and times.get(shape, 0) < MOST:
			times[shape] = times.get(shape, 0) + 1
			return data[:found.start()] + b"DO 0".ljust(len(found[0])) + data[found.end():], shape
	return data, None


def serve(client):
	server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
	skipped, asked, answer = None, b"", b""

	def judge():
		noticed = GUARD in answer
		if skipped:
			out.write((b"noticed" if noticed else b"unnoticed") + b"\t" + skipped + b"\n")
		if skipped and noticed:
			with lock:
				times[skipped] = MOST

	while True:
		try:
			ready = select.select([client, server], [], [])[0]
			data = ready[0].recv(65536)
		except OSError:
			data = b""
		if not data:
			break
		if ready[0] is server:
			answer += data if skipped else b""
			client.sendall(data)
			continue
		asked += data
		while n := packet(asked):
			judge()
			data, skipped = skip(asked[:n])
			asked, answer = asked[n:], b""
			server.sendall(data)
	judge()
	for s in (client, server):
		s.close()


listener = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file:
	file.write(str(listener.getsockname()[1]))
os.rename("port.new", "port")
while True:
	threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
