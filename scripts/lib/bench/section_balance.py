# SPDX-License-Identifier: BSD-2-Clause
"""
balance: how long the whole list takes over what it must take at the least, max(sum / slots, longest).  The commands sleep,
so that many slots fit few cores; the names are the seconds.  To each entry the bound adds what a bare `sleep` costs to start
and to reap here, measured with bench-spawn in the same turn, with as many at once.

	even        all are short against the whole: what is lost is ours
	long last   a few take a hundred times as long, and stand at the end, the worst order there is.  Whoever does not know
	            the durations beforehand starts them when all others are done; the ratio is then what the order costs, and
	            is compared with the old way: the list cut into contiguous blocks, a process each (xargs -n1), where one
	            process has got most of the long ones.
"""
import math
import os
import statistics
import time

from place import Trouble
from table import Wanted

SLEEP = "/bin/sleep"


class Case:
	def __init__(self, workers, slots, short, n, long=0.0, n_long=0, quick=False):
		self.workers, self.each, self.slots, self.quick = workers, slots, workers * slots, quick
		self.short, self.durations = short, [short] * n + [long] * n_long
		self.is_even = n_long == 0

	def name(self):
		shorts = [d for d in self.durations if d == self.short]
		more = len(self.durations) - len(shorts)
		return "%d slots (%d x %d), %s x %g s%s" % (self.slots, self.workers, self.each, "{:,}".format(len(shorts)), self.short,
							    ", then %d x %g s" % (more, self.durations[-1]) if more else "")

	def bound(self, cost):
		return max(sum(d + cost for d in self.durations) / self.slots, max(self.durations) + cost)


CASES = (
	Case(1, 2, 0.05, 400), Case(2, 8, 0.05, 3200, quick=True), Case(4, 16, 0.2, 3200, quick=True),
	Case(2, 8, 0.05, 1280, 5, 4, quick=True), Case(4, 16, 0.1, 2560, 10, 3),
)


def write_names(path, durations):
	with open(path, "w") as f:
		f.write("".join("%g\n" % d for d in durations))
	return path


def cost_of_a_sleep(here, case):
	n = 8 * case.slots
	path = write_names(here.dir + "/short", [case.short] * n)
	return here.run(["bench-spawn", str(case.slots), SLEEP], stdin=path, keep=False).seconds * case.slots / n - case.short


def together(here, commands, cnf=None):
	"""Starts all COMMANDS, (argv, input) each; the seconds until the last has ended."""
	began, processes = time.monotonic(), []
	for argv, path in commands:
		with open(path, "rb") as f, open(here.dir + "/together", "ab") as said:
			processes.append(here.start(argv, cnf, f, said, said))
	for p in processes:
		if p.wait() != 0:
			raise Trouble("%s ended with %d" % (p.args[0], p.returncode))
	return time.monotonic() - began


def between_first_and_last(here, stack):
	"""Seconds from the first command's start to the last one's end, by the ledger."""
	return int(here.sql("SELECT TIMESTAMPDIFF(MICROSECOND, MIN(a.started), MAX(a.ended)) FROM attempt a JOIN stack s ON s.stack_id=a.stack_id "
			    "WHERE s.name='%s'" % stack, "balance")[0][0]) / 1e6


def split(here, case):
	"""The list in contiguous blocks, one process each."""
	size = math.ceil(len(case.durations) / case.slots)
	blocks = [case.durations[i:i + size] for i in range(0, len(case.durations), size)]
	paths = [write_names("%s/block%d" % (here.dir, i), b) for i, b in enumerate(blocks)]
	return together(here, [(["xargs", "-n1", SLEEP], path) for path in paths])


def measure(here, table):
	cnf = here.database("balance")
	for number, case in enumerate(here.chosen(CASES)):
		name = case.name()
		bound = table.row("balance", name, "s", "the bound", [Wanted("ratio", 1.05, most=True)] if case.is_even else [])
		old = None if case.is_even else table.row("balance", "the same: how much faster", "s", "contiguous blocks", inverse=True)
		commands = []
		for i in range(here.runs):
			stack = "b%d.%d" % (number, i)
			here.run(["jobstack", "push", "-q", "-s", stack], cnf, write_names(here.dir + "/durations", case.durations))
			least = case.bound(cost_of_a_sleep(here, case))
			argv = ["jobstack-worker", "-s", stack, "--slots", str(case.each), "--", SLEEP]
			took = together(here, [(argv, os.devnull)] * case.workers, cnf)
			if here.counts(cnf, stack)["done"] != len(case.durations):
				raise Trouble("%s: not all are done" % stack)
			commands.append(between_first_and_last(here, stack))
			bound.ours.append(took)
			bound.theirs.append(least)
			if old:
				old.ours.append(took)
				old.theirs.append(split(here, case))
		here.note("balance: %s: from the first command's start to the last one's end %.2f s; the rest of the %.2f s is the workers' coming "
			  "and going" % (name, statistics.median(commands), bound.median(bound.ours)))
		here.say("   %s: %.3f of the bound" % (name, bound.ratio()))
	here.drop("balance")
