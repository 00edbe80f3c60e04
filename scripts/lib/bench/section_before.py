# SPDX-License-Identifier: BSD-2-Clause
"""
before: this build against an earlier one (--before BUILD), alternating on one server, each with a database of its own.

	dispatch     20,000 times /bin/true, two at a time
	persistent   400,000 entries through a command that answers at once
	ledger       200 connections, entries closed and claimed one by one, and in hundreds

A change that is not about speed must keep 0.97 of it.
"""
import os

from place import Trouble
from table import Wanted

TRUE = "/bin/true"


class Build:
	"""The programs of one build, and its database."""

	def __init__(self, here, name, directory):
		self.here, self.directory = here, directory
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

	def ledger(self, stack, k):
		self.push(stack, 100000 if k == 1 else 1000000)
		self.here.settle()
		return self.here.run([self.program("bench-ledger"), "-f", self.cnf, "-P", str(self.here.port), "-s", stack, "-t", "200", "-k", str(k),
				      "-d", "3"]).json()["rate"]


def measure(here, table):
	before = os.environ.get("JOBSTACK_BENCH_BEFORE")
	if not before:
		raise Trouble("name the build directory of the earlier state: --before BUILD")
	true, lines = (5000, 100000) if here.quick else (20000, 400000)
	builds = [Build(here, "now", os.path.dirname(here.which("jobstack"))), Build(here, "earlier", before)]
	cases = (
		("dispatch: %s x true, 2 at a time" % "{:,}".format(true), lambda b, stack: b.worker(stack, true, "--", TRUE)),
		("persistent: %s entries" % "{:,}".format(lines), lambda b, stack: b.worker(stack, lines, "--persistent", "--", b.program("echo-done"))),
		("ledger: 200 connections, 1 at once", lambda b, stack: b.ledger(stack, 1)),
		("ledger: 200 connections, 100 at once", lambda b, stack: b.ledger(stack, 100)),
	)
	for number, (name, rate) in enumerate(cases):
		if here.match not in name:
			continue
		row = table.row("before", name, "/s", "the earlier build", [Wanted("ratio", 0.97)])
		for i in range(here.runs):
			stack = "s%d-%d" % (number, i)
			# Who comes first changes each time, so that neither build has the better place.
			for build in builds if i % 2 == 0 else builds[::-1]:
				(row.ours if build is builds[0] else row.theirs).append(rate(build, stack))
		here.say("   %s: %.0f/s, earlier %.0f/s" % (name, row.median(row.ours), row.median(row.theirs)))
	here.drop("now")
	here.drop("earlier")
