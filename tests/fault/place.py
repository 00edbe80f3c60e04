# SPDX-License-Identifier: BSD-2-Clause
"""
Where the campaign happens: process, network, mount and host name spaces of its own.  Whatever it starts ends with it,
by the kernel's hand, even after kill -9; it can neither harm nor be harmed by what else runs here.  Nodes are name
spaces again, with a cable each to one bridge: a cable can be pulled.
"""
import ctypes
import os
import signal
import subprocess
import sys
import time

BRIDGE = "10.77.0.1"
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
	"""For a child before it execs: it shall not outlive this process."""
	_libc.prctl(1, signal.SIGKILL, 0, 0, 0)


def enter(program, arguments):
	"""Runs PROGRAM again within, hands signals on, returns its exit status."""
	how = ["-m", "-n", "-u", "-i", "-p", "--fork", "--kill-child", "--mount-proc"]
	if os.geteuid() != 0:
		how = ["-U", "--map-current-user", "--keep-caps"] + how
	command = ["unshare"] + how
	if subprocess.run(command + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
		command += ["--propagation", "unchanged"]  # in a chroot the root is no mount
	inner = subprocess.Popen(command + [sys.executable, program, "--init"] + arguments, preexec_fn=die_with_parent)
	asked = []

	def hand_on(number, _):
		asked.append(number)
		for child in children(inner.pid):
			try:
				os.kill(child, number)
			except OSError:
				pass

	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
		signal.signal(number, hand_on)
	while True:
		try:
			status = inner.wait()
			return 128 - status if status < 0 else status
		except InterruptedError:
			pass


def init(program, arguments):
	"""The first process within: starts PROGRAM, reaps whoever is orphaned, ends with it, and everything ends with that."""
	child = os.fork()
	if child == 0:
		os.setsid()
		os.execv(sys.executable, [sys.executable, program, "--inside"] + arguments)
	for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
		signal.signal(number, lambda n, _: os.kill(child, signal.SIGTERM))
	while True:
		try:
			pid, status = os.wait()
		except InterruptedError:
			continue
		if pid == child:
			os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def run(*command, quiet=False, timeout=300, **more):
	"""Runs a command that has to succeed; gives its output."""
	done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
			      timeout=timeout, **more)
	if done.returncode != 0 and not quiet:
		words = done.stderr.strip() or done.stdout.strip()
		raise RuntimeError("%s: status %d: %s" % (" ".join(command), done.returncode, words))
	return done.stdout


def wait_for(seconds, condition, nap=0.05):
	"""Polls until CONDITION() is true; whether it became so."""
	end = time.monotonic() + seconds
	while True:
		value = condition()
		if value:
			return value
		if time.monotonic() >= end:
			return None
		time.sleep(nap)


# ------------------------------------------------------------------------------------------------------------ processes

def slurp(path):
	try:
		with open(path, "rb") as file:
			return file.read()
	except OSError:
		return b""


def stat_of(pid):
	"""The fields of /proc/PID/stat after the name: state, parent, ...; or None."""
	text = slurp("/proc/%d/stat" % pid).decode("latin-1")
	return text[text.rfind(")") + 2:].split() if text else None


def alive(pid):
	fields = stat_of(pid)
	return fields is not None and fields[0] not in "ZX"


def comm(pid):
	return slurp("/proc/%d/comm" % pid).decode("latin-1").strip()


def children(pid):
	"""Those of each of its threads: a worker's commands are started by one that is not the first."""
	try:
		threads = os.listdir("/proc/%d/task" % pid)
	except OSError:
		return []
	return [int(c) for t in threads for c in slurp("/proc/%d/task/%s/children" % (pid, t)).split()]


def environ(pid):
	return dict(v.decode("latin-1").partition("=")[::2] for v in slurp("/proc/%d/environ" % pid).split(b"\0") if b"=" in v)


def named(*names):
	"""Living processes with one of these names, by pid."""
	pids = sorted(int(d) for d in os.listdir("/proc") if d.isdigit())
	return [pid for pid in pids if comm(pid) in names and alive(pid)]


def kill(pid, number=signal.SIGKILL):
	"""Whether there was somebody to send it to."""
	try:
		os.kill(pid, number)
		return True
	except OSError:
		return False


# ---------------------------------------------------------------------------------------------------------------- nodes

def begin_network():
	run("ip", "link", "set", "lo", "up")
	run("ip", "link", "add", "br0", "type", "bridge")
	run("ip", "addr", "add", BRIDGE + "/24", "dev", "br0")
	run("ip", "link", "set", "br0", "up")


class Node:
	"""A host of its own name and cable.  Its processes are ours, its clock and disk, too."""

	count = 0

	def __init__(self, name):
		Node.count += 1
		self.name, self.cable, self.address = name, "v-" + name, "10.77.0.%d" % (10 + Node.count)
		script = 'hostname "$0" && echo ready && exec sleep 1000000'
		self.holder = subprocess.Popen(["unshare", "-n", "-u", "sh", "-c", script, name],
					       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
		if self.holder.stdout.readline() != b"ready\n":
			raise RuntimeError("no name space for the node " + name)
		run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
		run("ip", "link", "set", self.cable, "master", "br0", "up")
		for words in ("addr add %s/24 dev eth0" % self.address, "link set eth0 up", "link set lo up"):
			run(*self.within("ip", *words.split()))

	def within(self, *command):
		return ["nsenter", "-t", str(self.holder.pid), "-n", "-u", "--"] + list(command)

	def cut(self):
		run("ip", "link", "set", self.cable, "down")

	def mend(self):
		run("ip", "link", "set", self.cable, "up")
