# SPDX-License-Identifier: BSD-2-Clause
"""
before: this build against an earlier one (--before BUILD), alternating on one server, each with a database of its own.

	dispatch     20,000 times /bin/true, two at a time
	persistent   400,000 entries through a command that answers at once
	ledger       200 connections, entries closed and claimed one by one, and in hundreds
	push         a million names, and how many a second
	depth        a stack of a million entries, of which one client closes and claims one after the other
	own CPU      what 100,000 times /bin/true cost the worker itself, without the commands, with its display on a terminal;
	             both at the same time, since what other programs do to the caches and the clock then concerns both

The ratio is the median of the pairs'.  A change that is not about speed must keep 0.97 of it, and may cost 1.02 of the CPU.
"""
import os
import pty
import select
from concurrent.futures import ThreadPoolExecutor

from place import Trouble
from table import Wanted

TRUE = "/bin/true"


def programs_below(pid):
	"""It, and what it has started of ours."""
	pids = [str(pid)]
	for pid in pids:
		with open("/proc/%s/task/%s/children" % (pid, pid)) as f:
			for child in f.read().split():
				with open("/proc/%s/comm" % child) as name:
					pids += [child] if name.read().startswith("jobstack") else []
	return pids


class Build:
	"""The programs of one build, and its database."""

	def __init__(self, here, name, directory):
		self.here, self.name, self.directory = here, name, directory
		self.cnf = here.database(name, init=False)
		here.run([self.program("jobstack"), "init", "-q"], self.cnf)

	def program(self, name):
		for path in (os.path.join(self.directory, name), os.path.join(self.directory, "bench", name)):
			if os.access(path, os.X_OK):
				return path
		raise Trouble("%s has no %s: build it with -DJOBSTACK_BENCH=ON" % (self.directory, name))

	def push(self, stack, n):
		self.here.run([self.program("jobstack"), "push", "-0", "-q", "-s", stack], self.cnf, self.here.names(n))

	def worker(self, stack, n, *argv):
		"""Entries per second of a worker with two slots."""
		self.push(stack, n)
		self.here.settle()
		ran = self.here.run([self.program("jobstack-worker"), "-s", stack, "--slots", "2", *argv], self.cnf, keep=False)
		status = self.here.run([self.program("jobstack"), "status", "-s", stack, "--json"], self.cnf).json()
		if status["done"] != n:
			raise Trouble("%s: not all %d entries are done" % (stack, n))
		return n / ran.seconds

	def own_cpu(self, stack, program):
		"""Seconds of CPU of a worker with one slot and of its keeper; the stack has been pushed."""
		ours, theirs = pty.openpty()
		process = self.here.start([*program, "-s", stack, "--slots", "1", "--", TRUE], self.cnf, stdout=theirs, stderr=theirs, env={"TERM": "xterm"})
		os.close(theirs)
		used = {}
		while process.poll() is None:
			try:
				if select.select([ours], [], [], 0.02)[0]:
					os.read(ours, 65536)
				for task in [task for pid in programs_below(process.pid) for task in os.scandir("/proc/%s/task" % pid)]:
					with open(task.path + "/schedstat") as f:
						used[task.name] = int(f.read().split()[0])
			except (OSError, IndexError):
				pass  # one of them has just ended
		os.close(ours)
		if process.returncode != 0:
			raise Trouble("%s: the worker ended with %d" % (stack, process.returncode))
		return sum(used.values()) / 1e9

	def push_rate(self, stack, n):
		self.here.settle()
		names = self.here.names(n)
		return n / self.here.run([self.program("jobstack"), "push", "-0", "-q", "-s", stack], self.cnf, names).seconds

	def step_rate(self, stack, n):
		"""One-entry steps per second, by the median of a step."""
		self.push(stack, n)
		self.here.settle()
		steps = 500 if self.here.quick else 3000
		answer = self.here.run([self.program("bench-depth"), "pops", self.cnf, str(steps), stack]).json()
		return 1e6 / answer[stack]["p50"]

	def ledger(self, stack, k, connections=200, seconds=3):
		"""What bench-ledger tells; the stack has been pushed."""
		return self.here.run([self.program("bench-ledger"), "-f", self.cnf, "-P", str(self.here.port), "-s", stack, "-t", str(connections),
				      "-k", str(k), "-d", str(seconds)]).json()

	def ledger_rate(self, stack, k):
		self.push(stack, 100000 if k == 1 else 1000000)
		self.here.settle()
		return self.ledger(stack, k)["rate"]


def measure(here, table):
	before = os.environ.get("JOBSTACK_BENCH_BEFORE")
	if not before:
		raise Trouble("name the build directory of the earlier state: --before BUILD")
	true, lines, own, names = (5000, 100000, 5000, 200000) if here.quick else (20000, 400000, 100000, 1000000)
	builds = [Build(here, "now", os.path.dirname(here.which("jobstack"))), Build(here, "earlier", before)]
	cases = (
		("dispatch: %s x true, 2 at a time" % "{:,}".format(true), lambda b, stack: b.worker(stack, true, "--", TRUE)),
		("persistent: %s entries" % "{:,}".format(lines), lambda b, stack: b.worker(stack, lines, "--persistent", "--", b.program("echo-done"))),
		("ledger: 200 connections, 1 at once", lambda b, stack: b.ledger_rate(stack, 1)),
		("ledger: 200 connections, 100 at once", lambda b, stack: b.ledger_rate(stack, 100)),
		("push: %s names" % "{:,}".format(names), lambda b, stack: b.push_rate(stack, names)),
		("depth: one-entry steps, %s entries" % "{:,}".format(names), lambda b, stack: b.step_rate(stack, names)),
		("own CPU: jobstack-worker, %s x true" % "{:,}".format(own), lambda b, stack: b.own_cpu(stack, [b.program("jobstack-worker")])),
		("own CPU: jobstack run, %s x true" % "{:,}".format(own), lambda b, stack: b.own_cpu(stack, [b.program("jobstack"), "run"])),
	)
	for number, (name, figure) in enumerate(cases):
		if here.match not in name:
			continue
		unit, wanted = ("s", Wanted("ratio", 1.02, most=True)) if "CPU" in name else ("/s", Wanted("ratio", 0.97))
		row = table.row("before", name, unit, "the earlier build", [wanted], paired=True)
		for i in range(here.runs):
			stack = "s%d-%d" % (number, i)
			# Who comes first changes each time, so that neither build has the better place.
			order = builds if i % 2 == 0 else builds[::-1]
			if "CPU" in name:
				for build in order:
					build.push(stack, own)
				here.settle()
				with ThreadPoolExecutor(2) as both:
					values = list(both.map(lambda b: figure(b, stack), order))
			else:
				values = [figure(build, stack) for build in order]
			for build, value in zip(order, values):
				(row.ours if build is builds[0] else row.theirs).append(value)
		here.say("   %s: %.4g %s, earlier %.4g" % (name, row.median(row.ours), unit, row.median(row.theirs)))
	here.drop("now")
	here.drop("earlier")
