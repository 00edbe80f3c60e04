# SPDX-License-Identifier: BSD-2-Clause
"""
The real things that are struck: a private MariaDB (or MySQL) on a small disk with a clock of its own, and a private
Slurm whose nodes have cables.  The servers may die at any moment; here is how they come back.
"""
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import threading

import place

HERE = pathlib.Path(__file__).resolve().parent

# what a server says, or is said of it, that is away, going, full or busy
AWAY = re.compile(r"ERROR (20\d\d|1021|1030|1040|1053|1077|1114|1152|1158|1159|1160|1161|1205|1213|1927)\b")


def bash(*arguments, timeout=300):
	return place.run("bash", str(HERE / "labs.sh"), *[str(a) for a in arguments], timeout=timeout)


def compile_tools(directory):
	"""The witness and the libraries to preload, into DIRECTORY."""
	cc = shutil.which(os.environ.get("CC", "cc")) or "cc"
	flags = [cc, "-std=c17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
	place.run(*flags, "-static", "-o", str(directory / "witness"), str(HERE / "witness.c"))
	for name in ("shim", "forks"):
		place.run(*flags, "-shared", "-fPIC", "-o", str(directory / (name + ".so")), str(HERE / (name + ".c")), "-ldl", "-pthread")


class Clock:
	"""A wall clock that can be set, for who runs under the shim; and the clocks of a virtual machine that can be paused."""

	def __init__(self, path, shim):
		self.path, self.shim, self.behind, self.lock = path, shim, 0, threading.Lock()
		self.set(0)

	def set(self, seconds):
		with self.lock:
			self.wall = seconds
			self.write()

	def stood_still(self, seconds, noticed):
		"""For so long all clocks stood still.  NOTICED: then the wall clock was set right."""
		with self.lock:
			self.behind += seconds
			self.wall -= 0 if noticed else seconds
			self.write()

	def write(self):
		with open(self.path, "r+b" if os.path.exists(self.path) else "wb") as file:
			file.write(struct.pack("qq", int(self.wall * 1e9), int(-self.behind * 1e9)))

	def environment(self):
		return {"LD_PRELOAD": str(self.shim), "FAULT_CLOCK": str(self.path)}


class Disk:
	"""A small file system of its own, which can be filled up and emptied."""

	def __init__(self, path, megabytes, mode="711"):
		self.path = pathlib.Path(path)
		self.path.mkdir(parents=True, exist_ok=True)
		place.run("mount", "-t", "tmpfs", "-o", "size=%dm,mode=%s" % (megabytes, mode), "none", str(self.path))

	def fill(self):
		fd = os.open(self.path / "ballast", os.O_WRONLY | os.O_CREAT, 0o600)
		at, size = 0, 1 << 24
		while size >= 4096:
			try:
				os.posix_fallocate(fd, at, size)
				at += size
			except OSError:
				size //= 2
		os.close(fd)

	def empty(self):
		(self.path / "ballast").unlink(missing_ok=True)


class Database:
	"""The server.  Its data lie on DISK; its clock is CLOCK's."""

	setting = ""  # what a session of ours is set to

	def __init__(self, root, clock):
		self.disk = Disk(root / "disk", 700)
		self.clock, self.lock = clock, threading.Lock()
		bash("db", self.disk.path / "db")
		self.begin(self.disk.path / "db")
		self.ports = [self.port]
		place.kill(self.pid(), signal.SIGTERM)  # and again, with the clock that can jump
		place.wait_for(100, lambda: not self.alive())
		self.start()

	def begin(self, directory):
		"""What is to be known of the server that runs in DIRECTORY."""
		self.dir = directory
		self.starts, self.process, self.struck, self.deaths = 0, None, False, []
		self.client = shutil.which("mariadb") or shutil.which("mysql")
		self.program = os.readlink("/proc/%d/exe" % self.pid())
		self.port = int(re.search(r"port=(\d+)", (self.dir / "admin.cnf").read_text()).group(1))
		self.version = place.run(self.program, "--no-defaults", "--version").strip().split("Ver ")[-1]

	def pid(self):
		if self.process:
			return self.process.pid if self.process.poll() is None else 0
		text = place.slurp(self.dir / "pid").strip()
		return int(text) if text.isdigit() else 0

	def alive(self):
		pid = self.pid()
		return pid > 0 and place.alive(pid) and place.comm(pid).startswith(("mariadb", "mysql"))

	def kill(self):
		"""With -9; whether it was there, and it is gone when this returns."""
		self.struck = self.alive()
		return self.struck and place.kill(self.pid()) and bool(place.wait_for(100, lambda: not self.alive()))

	def answers(self):
		return self.query("SELECT 1", timeout=3) is not None

	def start(self):
		"""Brings it up if it is not, and waits until it answers."""
		with self.lock:
			for _ in range(6):
				self.disk.empty()
				if self.alive():
					place.kill(self.pid(), signal.SIGCONT)
				else:
					if self.process and not self.struck:
						self.deaths.append(self.process.poll())
					self.starts, self.struck = self.starts + 1, False
					with open(self.dir / "start.log", "ab") as log:
						self.process = subprocess.Popen(
							[self.program, "--defaults-file=%s/server.cnf" % self.dir], cwd=self.dir, stdin=subprocess.DEVNULL,
							stdout=log, stderr=log, start_new_session=True, env=dict(os.environ, **self.clock.environment()))
				if place.wait_for(60, lambda: self.answers() or not self.alive()) and self.answers():
					return
			raise RuntimeError("the database server does not come back: see %s/server.log" % self.dir)

	def query(self, sql, name=None, timeout=20):
		"""Rows as lists of text; None if the server could not be asked."""
		words = [self.client, "--defaults-file=%s/admin.cnf" % self.dir, "--batch", "--skip-column-names", "--raw"]
		if "mariadb" in self.client:  # from 11.4 on it refuses the certificate of a server whose clock was ahead when it began
			words.append("--skip-ssl")
		try:
			done = subprocess.run(words + ([name] if name else []), input=self.setting + sql, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
					      text=True, errors="surrogateescape", timeout=timeout)
		except subprocess.TimeoutExpired:
			return None
		if done.returncode != 0:
			if not AWAY.search(done.stderr):
				raise RuntimeError("%s: %s" % (sql, done.stderr.strip()))
			return None
		return [line.split("\t") for line in done.stdout.split("\n")[:-1]]

	def create(self, name):
		bash("database", self.dir, name, place.BRIDGE)
		return self.dir / (name + ".cnf")

	def option_file(self, name, path, host, port):
		"""An option file for the same database by another way."""
		text = (self.dir / (name + ".cnf")).read_text()
		text = re.sub(r"(?m)^port=.*", "port=%d\nssl-mode=DISABLED" % port, re.sub(r"(?m)^host=.*", "host=" + host, text))
		with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
			file.write(text)

	def dump(self, name, path):
		program = shutil.which("mariadb-dump") or shutil.which("mysqldump")
		with open(path, "wb") as file:
			subprocess.run([program, "--defaults-file=%s/admin.cnf" % self.dir] + (["--skip-ssl"] if "mariadb" in program else []) + ["--hex-blob", "--skip-extended-insert", name],
				       stdout=file, stderr=subprocess.STDOUT, timeout=60)


class Slurm:
	"""The cluster."""

	def __init__(self, root, names):
		self.dir = root / "slurm"
		self.dir.mkdir(mode=0o711)
		self.nodes = {name: place.Node(name) for name in names}
		bash("slurm", self.dir, place.BRIDGE, *[self.word(n) for n in self.nodes.values()])
		self.environment = {"SLURM_CONF": str(self.dir / "slurm.conf")}
		self.version = place.run("slurmctld", "-V").strip()

	def word(self, node):
		return "%d:%s:%s" % (node.holder.pid, node.name, node.address)

	def ask(self, *command, timeout=4, env=None, cwd=None):
		"""What a Slurm command prints, or None if it failed or took too long, or nobody is there to be asked."""
		if not any((place.stat_of(pid) or "X")[0] in "SRD" for pid in place.named("slurmctld")):
			return None
		try:
			done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
					      timeout=timeout, env=env or dict(os.environ, **self.environment), cwd=cwd)
		except subprocess.TimeoutExpired:
			return None
		return done.stdout if done.returncode == 0 else None

	def running(self):
		"""[(job, node)] that run, or None."""
		text = self.ask("squeue", "-h", "-t", "R", "-o", "%A %N")
		return None if text is None else [tuple(line.split()) for line in text.splitlines() if len(line.split()) == 2]

	def slurmd(self, name):
		for pid in place.named("slurmd"):
			words = place.slurp("/proc/%d/cmdline" % pid).split(b"\0")
			if name.encode() in words and place.stat_of(pid)[1] != str(pid):
				parent = int(place.stat_of(pid)[1])
				if place.comm(parent) != "slurmd":
					return pid
		return 0

	def heal(self):
		"""Everything up, every cable in, every node willing."""
		for node in self.nodes.values():
			node.mend()
			if not self.slurmd(node.name):
				bash("slurmd", self.dir, self.word(node))
		for pid in place.named("slurmd", "slurmctld", "slurmstepd"):
			place.kill(pid, signal.SIGCONT)
		if not place.named("slurmctld"):
			bash("slurmctld", self.dir)
		if not place.wait_for(150, lambda: self.ask("scontrol", "ping")):
			raise RuntimeError("slurmctld does not come back: see %s/log" % self.dir)

	def clear(self):
		"""No job left."""
		self.heal()
		self.ask("scancel", "-u", str(os.geteuid()), timeout=10)

		def quiet():
			for name in self.nodes:
				self.ask("scontrol", "update", "NodeName=" + name, "State=RESUME")
			return self.ask("squeue", "-h", "-o", "%i") == ""

		if not place.wait_for(45, quiet, 0.3):
			for name in self.nodes:  # what is completing for ever, since its slurmd's word was lost, ends with its node
				self.ask("scontrol", "update", "NodeName=" + name, "State=DOWN", "Reason=stuck")
		if not place.wait_for(150, quiet, 0.3):
			raise RuntimeError("jobs stay in the queue: %s" % self.ask("squeue", "-h"))
