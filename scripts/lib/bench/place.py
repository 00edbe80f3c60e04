# SPDX-License-Identifier: BSD-2-Clause
"""
Where the measurements are made: the private server and its databases, commands run with a clock and an account of what
they used, and the state of rest from which every timed run starts.
"""
import contextlib
import copy
import json
import os
import shutil
import signal
import subprocess
import time

LAB = 'set -euo pipefail; . "$1/scripts/lib/%s-lab.sh"; shift; "$@"'
PATIENCE_S = 900  # no single command takes so long; one that does hangs


class Trouble(Exception):
	"""Something could not be run; the words say what."""


class Ran:
	"""A command that has ended well: seconds by the wall, and what the kernel says of it and of the children it reaped."""

	def __init__(self, seconds, usage, out, err):
		self.seconds, self.usage, self.out, self.err = seconds, usage, out, err

	def json(self):
		return json.loads(self.out)


class Place:
	def __init__(self, top, work, runs, quick, match):
		self.top, self.runs, self.quick, self.match = top, runs, quick, match
		self.dir = work + "/run"
		self.slurm = work + "/slurm"
		self.client = self.which("mariadb") or self.which("mysql")
		self.notes = []
		self.move_to(work + "/db")

	def move_to(self, lab):
		self.lab, self.admin = lab, lab + "/admin.cnf"
		with open(self.admin) as f:
			self.port = int(next(line for line in f if line.startswith("port=")).split("=")[1])

	@staticmethod
	def which(program):
		for place in os.environ["PATH"].split(":"):
			if os.access(os.path.join(place, program), os.X_OK):
				return os.path.join(place, program)
		return None

	def say(self, words):
		os.write(2, (words + "\n").encode())

	def chosen(self, cases):
		"""Those that this run is to measure: of each case the name and whether it is for a quick look."""
		found = [c for c in cases if (c.quick or not self.quick) and self.match in c.name()]
		if not found:
			raise Trouble("no case%s has \"%s\" in its name: there are %s" % (" of a quick look" if self.quick else "", self.match,
				      "; ".join(c.name() for c in cases if c.quick or not self.quick)))
		return found

	def note(self, words):
		"""Said under the table, once."""
		if words not in self.notes:
			self.notes.append(words)

	# ------------------------------------------------------------------------------------------------------- commands

	def start(self, argv, cnf=None, stdin=None, stdout=None, stderr=None, env=None):
		environment = dict(os.environ, **(env or {}))
		if cnf:
			environment["JOBSTACK_DEFAULTS_FILE"] = cnf
		return subprocess.Popen(argv, cwd=self.dir, env=environment, stdin=stdin or subprocess.DEVNULL, stdout=stdout, stderr=stderr)

	def run(self, argv, cnf=None, stdin=None, keep=True, env=None):
		"""Runs ARGV with the file STDIN as its input; the clock runs from its start to its end.  A status but 0 is Trouble.
		What it says goes to files, so that no pipe of ours can hold it up; KEEP: its output is wanted."""
		out, err = self.dir + "/.out", self.dir + "/.err"
		with open(stdin or "/dev/null", "rb") as i, open(out if keep else "/dev/null", "wb") as o, open(err, "wb") as e:
			began = time.monotonic()
			process = self.start(argv, cnf, i, o, e, env)
			signal.alarm(PATIENCE_S)
			try:
				_, status, usage = os.wait4(process.pid, 0)
			finally:
				signal.alarm(0)
			seconds = time.monotonic() - began
			process.returncode = os.waitstatus_to_exitcode(status)
		with open(err, errors="replace") as f:
			words = f.read(600).strip()
		if process.returncode != 0:
			raise Trouble("%s ended with %d: %s" % (" ".join(argv)[:120], process.returncode, words))
		with open(out if keep else "/dev/null", errors="replace") as f:
			return Ran(seconds, usage, f.read(), words)

	def wait_for(self, what, condition, seconds=60):
		end = time.monotonic() + seconds
		while not condition():
			if time.monotonic() > end:
				raise Trouble("waited %d s in vain: %s" % (seconds, what))
			time.sleep(0.05)

	# ------------------------------------------------------------------------------------------------------- database

	def lab_call(self, lab, *argv, env=None):
		done = subprocess.run(["bash", "-c", LAB % lab, "bench", self.top, *argv], env=dict(os.environ, **(env or {})),
				      stdin=subprocess.DEVNULL, capture_output=True, text=True)
		if done.returncode != 0:
			raise Trouble("%s: %s" % (" ".join(argv), done.stderr.strip()))
		return done.stdout.strip()

	@staticmethod
	def binlog_settings(on):
		"""Each commit makes the binary log durable, or the server has none."""
		return ["server-id=1", "log-bin=binlog", "sync-binlog=1"] if on else ["skip-log-bin"]

	@contextlib.contextmanager
	def server(self, name, settings, environment=""):
		"""This place at another server, which has the settings of the first one and then SETTINGS.  ENVIRONMENT (`A=B C=D`) is
		only for the server as it runs, not for making its data directory."""
		lab = "%s/%s" % (self.dir, name)
		program = lab + ".sh"
		with open(program, "w") as f:
			f.write('#!/bin/sh\ncase "$*" in *--init-file=*) export %s ;; esac\nexec %s "$@"\n'
				% (environment or "LC_ALL=C", self.lab_call("mariadb", "db_lab_program")))
		os.chmod(program, 0o755)
		os.chmod(self.dir, 0o711)
		there = copy.copy(self)
		try:
			self.lab_call("mariadb", "db_lab_up", lab, env={"JOBSTACK_LAB_DB": program,
				      "LAB_SETTINGS": "\n".join([os.environ["LAB_SETTINGS"]] + settings)})
			there.move_to(lab)
			yield there
		finally:
			self.lab_call("mariadb", "db_lab_down", lab)
			shutil.rmtree(lab, ignore_errors=True)
			os.unlink(program)

	def sql(self, text, database=None):
		"""Rows of strings, as the server's root."""
		argv = [self.client, "--defaults-file=" + self.admin, "--batch", "--raw", "--skip-column-names"]
		done = subprocess.run(argv + ([database] if database else []), input=text, capture_output=True, text=True)
		if done.returncode != 0:
			raise Trouble("SQL: %s" % done.stderr.strip())
		return [line.split("\t") for line in done.stdout.splitlines()]

	def variable(self, name):
		rows = self.sql("SHOW GLOBAL VARIABLES LIKE '%s'" % name)
		return rows[0][1] if rows else "?"

	def database(self, name, init=True):
		"""A fresh database; the path of its option file."""
		self.lab_call("mariadb", "db_lab_drop", self.lab, name)
		self.lab_call("mariadb", "db_lab_database", self.lab, name)
		cnf = "%s/%s.cnf" % (self.lab, name)
		if init:
			self.run(["jobstack", "init", "-q"], cnf)
		return cnf

	def drop(self, name):
		self.wait_for("earlier clients have gone", self.alone, 180)  # else the server waits for them
		self.lab_call("mariadb", "db_lab_drop", self.lab, name)

	def settle(self, history=True):
		"""Every timed run starts from rest: what earlier ones left to be written is written, and (HISTORY) what they left
		to be purged is purged, so that nobody pays for who came before."""
		self.sql("SET GLOBAL innodb_io_capacity_max=40000; SET GLOBAL innodb_io_capacity=20000;"
			 "SET GLOBAL innodb_max_dirty_pages_pct_lwm=0; SET GLOBAL innodb_max_dirty_pages_pct=0")
		try:
			self.wait_for("the server has written its pages", lambda: self.status("Innodb_buffer_pool_pages_dirty") < 200, 180)
			self.wait_for("earlier clients have gone", self.alone, 180)
			if history:
				self.wait_for("the server has purged its history", lambda: self.history() < 2000, 180)
		finally:
			self.sql("SET GLOBAL innodb_max_dirty_pages_pct=90; SET GLOBAL innodb_io_capacity=200; SET GLOBAL innodb_io_capacity_max=2000")

	def alone(self):
		"""No client but us (root) is connected.  Those that were left (crew.h) are gone, but the server only notices when it
		has done what they had asked for: it is told."""
		ids = self.sql("SELECT ID FROM information_schema.PROCESSLIST WHERE USER NOT IN ('root','system user','event_scheduler')")
		if ids:
			subprocess.run([self.client, "--defaults-file=" + self.admin, "--force"], input="".join("KILL %s;\n" % i[0] for i in ids), text=True,
				       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # some have gone meanwhile
		return not ids

	def pid(self):
		with open(self.lab + "/pid") as f:
			return int(f.read())

	def is_mariadb(self):
		return "MariaDB" in self.variable("version")

	def status(self, name):
		return int(self.sql("SHOW GLOBAL STATUS LIKE '%s'" % name)[0][1])

	def history(self):
		return int(self.sql("SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME='trx_rseg_history_len'")[0][0])

	# --------------------------------------------------------------------------------------------------------- stacks

	def names(self, n, end="\0"):
		"""A file with N names as they are in the field, each followed by END."""
		path = "%s/names-%d-%d" % (self.dir, n, ord(end))
		if not os.path.exists(path):
			with open(path, "w") as f:
				for start in range(0, n, 10000):
					f.write("".join("/data/airs/2012/%03d/AIRS.2012.%09d.L1B.hdf%s" % (i // 100000, i, end)
							for i in range(start + 1, min(start + 10000, n) + 1)))
		return path

	def push(self, cnf, stack, n):
		return self.run(["jobstack", "push", "-0", "-q", "-s", stack], cnf, self.names(n))

	def counts(self, cnf, stack):
		answer = self.run(["jobstack", "status", "-s", stack, "--json"], cnf).json()
		return answer["stacks"][0] if "stacks" in answer else answer

	def ensure_ready(self, cnf, stack, least, lump):
		if self.counts(cnf, stack)["ready"] < least:
			self.push(cnf, stack, lump)


class Session:
	"""A client of the server that stays connected, and does what it is told."""

	def __init__(self, place, database, text):
		argv = [place.client, "--defaults-file=" + place.admin, "--batch", "--skip-column-names", "--unbuffered", database]
		self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		self.process.stdin.write(text + ";\nSELECT 'said';\n")
		self.process.stdin.flush()
		while True:
			line = self.process.stdout.readline()
			if line.strip() == "said":
				break
			if not line:
				raise Trouble("the session that was to say \"%s\" has ended" % text)

	def close(self):
		self.process.stdin.close()
		self.process.wait()
		self.process.stdout.close()
