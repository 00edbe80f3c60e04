# SPDX-License-Identifier: BSD-2-Clause
"""
A server that is after the password: it speaks MySQL's protocol as far as the login, asks for the password in every way
that the protocol has, and keeps all that it is sent, decrypted where it can.

	rogue.py DIRECTORY JOBSTACK WORKER

lets both tools log in to it, for each of the PLAYS and FILES below, with its files in DIRECTORY, and prints a line for
each case.
"""
import concurrent.futures
import hashlib
import itertools
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading

PASSWORD = "Tr0ub4dor-and-3-horses"
USER = "rogue-user"
NONCE = bytes(range(65, 85))
COUNTER = itertools.count()
CLIENT_SSL, PLUGIN_AUTH = 0x800, 0x80000
CAPABILITIES = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | PLUGIN_AUTH
NATIVE, SHA2, CLEAR, DIALOG, SHA256 = (
	"mysql_native_password", "caching_sha2_password", "mysql_clear_password", "dialog", "sha256_password")
OURS = "jobstack_login"  # what the client calls its own plugin: the rogue may say the name, too
MORE = "more"  # no plugin: "you have to show the whole password"
FINE = "fine"  # no plugin: "you are in"

# What the rogue does: the plugin in its greeting ("": the greeting knows no plugins), and what it says then.
PLAYS = [(SHA2, [MORE]), (CLEAR, []), (DIALOG, []), (SHA256, [MORE]), (NATIVE, [MORE]), ("", [MORE]), (OURS, [MORE]),
	(OURS, [CLEAR]), (NATIVE, [SHA2]), (NATIVE, [CLEAR]), (NATIVE, [DIALOG]), (NATIVE, [SHA256]), (SHA2, [SHA2]),
	("", [CLEAR]),
	(SHA2, [NATIVE, CLEAR]), (SHA2, [NATIVE, SHA2]), (NATIVE, [NATIVE, DIALOG]), (NATIVE, [NATIVE, SHA256]), (SHA2, [""]),
	(SHA2, [FINE])]
# What the option file says about TLS.
FILES = {"PREFERRED": "", "REQUIRED": "ssl-mode=REQUIRED\n", "ssl=1": "ssl=1\n", "ssl-ca": "ssl-ca=%s/other-ca.pem\n"}
# Where the server may have the password, and gets it: else the rogue might just be clumsy.
TRUSTED = {"its own ssl-ca": "ssl-ca=%s/rogue.pem\n", "a socket": ""}


def openssl(*words, data=None):
	return subprocess.run(["openssl", *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)


class Rogue:
	"""One listening port, and one play for each connection to it."""

	def __init__(self, here, tls, play, path=None):
		self.here, self.tls, self.play = here, tls, play
		self.plain, self.packets, self.begun = b"", [], 0
		self.listener = socket.create_server(("127.0.0.1", 0)) if path is None else socket.socket(socket.AF_UNIX)
		if path is None:
			self.address = f"host=127.0.0.1\nport={self.listener.getsockname()[1]}\n"
		else:
			self.listener.bind(path)
			self.listener.listen()
			self.address = f"host=localhost\nsocket={path}\n"
		self.thread = threading.Thread(target=self.serve)
		self.thread.start()

	def close(self):
		self.listener.shutdown(socket.SHUT_RDWR)
		self.thread.join()
		self.listener.close()

	def serve(self):
		while True:
			try:
				link, _ = self.listener.accept()
			except OSError:
				return
			link.settimeout(100)
			self.begun += 1
			try:
				self.converse(link)
			except (OSError, EOFError, ssl.SSLError):
				pass
			link.close()

	def take(self, link, n):
		data = b""
		while len(data) < n:
			some = link.recv(n - len(data))
			if not some:
				raise EOFError
			data += some
			if not isinstance(link, ssl.SSLSocket):
				self.plain += some
		return data

	def hear(self, link):
		head = self.take(link, 4)
		body = self.take(link, int.from_bytes(head[:3], "little"))
		self.number = head[3] + 1
		self.packets.append(body)
		return body

	def say(self, link, body):
		link.sendall(struct.pack("<I", len(body))[:3] + bytes([self.number & 255]) + body)

	def greet(self, link, plugin):
		capabilities = CAPABILITIES | (CLIENT_SSL if self.tls else 0)
		if plugin == "":
			capabilities &= ~PLUGIN_AUTH
		self.number = 0
		self.say(link, b"\x0a8.0.99-rogue\0" + struct.pack("<I", 7) + NONCE[:8] + b"\0"
			+ struct.pack("<H", capabilities & 0xffff) + b"\x21" + struct.pack("<HH", 2, capabilities >> 16) + b"\x15" + bytes(10)
			+ NONCE[8:] + b"\0" + plugin.encode() + b"\0")

	def converse(self, link):
		greeting, steps = self.play
		self.greet(link, greeting)
		body = self.hear(link)
		if self.tls and len(body) == 32 and struct.unpack("<I", body[:4])[0] & CLIENT_SSL:
			context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
			context.load_cert_chain(self.here + "/rogue.pem", self.here + "/rogue-key.pem")
			link = context.wrap_socket(link, server_side=True)
			self.hear(link)
		if not steps and not self.packets[-1].endswith(greeting.encode() + b"\0"):
			steps = [greeting]  # the client did not take the greeting's plugin: so it is told to
		for step in steps:
			if step == FINE:
				self.say(link, b"\0\0\0\2\0\0\0")
			elif step == MORE:
				self.say(link, b"\1\4")
			else:
				question = b"\4Password, please: " if step == DIALOG else NONCE
				self.say(link, b"\xfe" + (step.encode() + b"\0" + question + b"\0" if step else b""))
			said = self.hear(link)
			if step == SHA2:
				self.say(link, b"\1\4")
				said = self.hear(link)
			if said in (b"\1", b"\2"):  # "your key, please"
				with open(self.here + "/rogue-rsa.pub", "rb") as key:
					self.say(link, b"\1" + key.read())
				self.hear(link)
		self.say(link, b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied")

	def readings(self):
		"""All that can be read in what came."""
		yield self.plain
		for body in self.packets:
			yield body
			yield bytes(c ^ NONCE[i % 20] for i, c in enumerate(body))
			if len(body) == 256:
				clear = openssl("pkeyutl", "-decrypt", "-inkey", self.here + "/rogue-rsa.pem", "-pkeyopt", "rsa_padding_mode:oaep",
					data=body).stdout
				yield clear
				yield bytes(c ^ NONCE[i % 20] for i, c in enumerate(clear))

	def has(self, text):
		return any(text.encode() in reading for reading in self.readings())

	def answered(self):
		"""The challenge of mysql_native_password was answered, rightly."""
		once = hashlib.sha1(PASSWORD.encode()).digest()
		mask = hashlib.sha1(NONCE + hashlib.sha1(once).digest()).digest()
		return bytes(a ^ b for a, b in zip(once, mask)) in self.packets


def make_keys(here):
	for name in ("rogue", "other-ca"):
		made = openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
			"-addext", "subjectAltName=IP:127.0.0.1", "-days", "2",
			"-keyout", f"{here}/{name}-key.pem", "-out", f"{here}/{name}.pem")
		assert made.returncode == 0, "openssl req failed"
	openssl("genrsa", "-out", here + "/rogue-rsa.pem", "2048")
	openssl("rsa", "-in", here + "/rogue-rsa.pem", "-pubout", "-out", here + "/rogue-rsa.pub")
	assert os.path.getsize(here + "/rogue-rsa.pub") > 0
	sample = openssl("pkeyutl", "-encrypt", "-pubin", "-inkey", here + "/rogue-rsa.pub",
		"-pkeyopt", "rsa_padding_mode:oaep",
		data=bytes(c ^ NONCE[i % 20] for i, c in enumerate(PASSWORD.encode() + b"\0"))).stdout
	rogue = Rogue(here, False, (NATIVE, []))
	rogue.packets.append(sample)
	rogue.close()
	assert rogue.has(PASSWORD), "the rogue can't read its own key's ciphertext"


def report(word, tool, ended):
	return f"{word}\n#   {tool} ended with {ended.returncode}, said: {ended.stderr.strip()}"


def faults(rogue, tool, mode, ended):
	"""What is wrong with how it ended; nothing: []."""
	greeting, steps = rogue.play
	said = ended.stderr
	wrong = []
	if rogue.begun == 0:
		wrong.append("the tool did not come")
	if mode in TRUSTED:
		if not rogue.has(PASSWORD) or ended.returncode != 77 or "Access denied" not in said:
			wrong.append("it should have logged in")
		return [report(word, tool, ended) for word in wrong]
	if rogue.has(PASSWORD):
		wrong.append("THE ROGUE HAS THE PASSWORD")
	if PASSWORD in said or ended.stdout:
		wrong.append("it says too much")
	if ended.returncode not in (69, 77):
		wrong.append("the status")
	plain_refused = mode != "PREFERRED" and not rogue.tls
	if plain_refused and (rogue.plain != b"" or ended.returncode != 69 or "TLS" not in said and "SSL" not in said):
		wrong.append("a server without TLS must get nothing, when TLS is required")
	if mode == "ssl-ca" and rogue.has(USER):
		wrong.append("the user's name went to a server with a wrong certificate")
	if rogue.tls and USER.encode() in rogue.plain:
		wrong.append("the user's name went in the clear, where TLS is offered")
	open_door = not plain_refused and mode != "ssl-ca"
	asked = steps[0] if steps else greeting
	if open_door and asked in (SHA2, CLEAR, DIALOG, SHA256) and greeting not in ("", OURS):
		if ended.returncode != 77 or any(w not in said for w in ("was not sent the password", "ssl-ca=FILE", asked)):
			wrong.append("the refusal must be 77, and name the plugin and ssl-ca")
	if open_door and asked == NATIVE and not rogue.answered() and "cannot be loaded" not in said:
		wrong.append("the challenge was not answered")
	return [report(word, tool, ended) for word in wrong]


def run_case(here, tools, tls, play, mode):
	found = []
	for tool, words in tools.items():
		path = f"{here}/{tool}-{next(COUNTER)}"
		rogue = Rogue(here, tls, play, path + ".sock" if mode == "a socket" else None)
		path += ".cnf"
		with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
			file.write(f"[client]\n{rogue.address}user={USER}\npassword={PASSWORD}\n")
			file.write({**FILES, **TRUSTED}[mode].replace("%s", here))
		try:
			ended = subprocess.run(words, env=dict(os.environ, JOBSTACK_DEFAULTS_FILE=path),
				stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
				text=True, errors="replace", check=False)
		finally:
			rogue.close()
		found += faults(rogue, tool, mode, ended)
		os.unlink(path)
	return found


def main():
	here, jobstack, worker = sys.argv[1:]
	make_keys(here)
	tools = {"jobstack": [jobstack, "status"], "jobstack-worker": [worker, "-q", "-s", "none", "--connect-timeout", "0", "--", "true"]}
	cases = [(tls, play, mode) for tls in (False, True) for play in PLAYS for mode in FILES]
	cases += [(mode != "a socket", (NATIVE, [SHA2]), mode) for mode in TRUSTED]
	failed = 0
	with concurrent.futures.ThreadPoolExecutor(4) as pool:
		for case, found in zip(cases, pool.map(lambda c: run_case(here, tools, *c), cases)):
			tls, (greeting, steps), mode = case
			then = ", ".join(s or "the old way" for s in steps) or "as greeted"
			print("not ok -" if found else "ok -", "TLS," if tls else "no TLS,", "greets with", greeting or "no plugin",
				f"and then {then}; {mode}")
			for text in found:
				print("#   " + text)
			failed += bool(found)
	print(f"# {failed} of {len(cases)} failed")
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
