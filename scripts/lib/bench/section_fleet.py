# SPDX-License-Identifier: BSD-2-Clause
"""
fleet: the share of slot time in which a command runs, in fleets of workers (bench-fleet), on servers with and without a
binary log whose fsync takes 0 to 10 ms longer (slow-disk.c).  Each worker is a thread with a connection of its own that
decides as a real worker does; its commands only sleep.  Warming up is not counted.  Beside it the same fleet takes its
entries from the row queue (rowqueue.h) on the same server.  Each case runs once, unless --runs says more.

With hundreds of workers the row queue may stand still, and its server with it for minutes.  Those runs come last on each
server, and end with the first in which hardly anything ran.
"""
import itertools
import os
import shutil
import struct

import section_ledger
from place import Trouble
from table import Wanted, markdown

SHIM = "libbench-slow-disk.so"


class Case:
	def __init__(self, workers, slots, command, busy, up_to_ms, quick=False, delays=None):
		"""DELAYS: the only ones at which it is measured."""
		self.workers, self.slots, self.command, self.busy, self.up_to_ms = workers, slots, command, busy, up_to_ms
		self.quick, self.delays = quick, delays

	def name(self):
		return "%s x %d, %g s" % ("{:,}".format(self.workers), self.slots, self.command)

	def warm_s(self):
		"""Two rounds of commands: in the first, workers don't know yet how long commands take, and claim nothing ahead."""
		return 2 * self.command

	def measured_s(self):
		return max(min(2 * self.command, 60), 10)

	def entries(self):
		rounds = (self.warm_s() + self.measured_s()) / (0.9 * self.command) + 3
		return int(self.workers * self.slots * rounds)


CASES = (
	Case(100, 8, 2, 0.98, 5, quick=True), Case(200, 32, 1, 0.95, 2, quick=True),
	Case(1000, 64, 10, 0.98, 5), Case(1000, 64, 60, 0.98, 5, delays=(5,)),
)
DELAYS_MS = (0, 1, 5, 10)
QUICK_MS = (0, 2, 5)
CROWD = 200  # workers
STILL = 0.01  # busy
COLUMNS = (("busy, %", "busy", 100, "%.1f"), ("entries/s", "entries", 1, "%.0f"), ("steps/s", "steps", 1, "%.0f"), ("p50 of a step, ms", "p50_ms", 1, "%.0f"),
	   ("p99, ms", "p99_ms", 1, "%.0f"), ("server, cores", "server_cores", 1, "%.2f"))


class Disk:
	"""How slow the disk of the servers is (slow-disk.c)."""

	def __init__(self, here):
		self.path = here.dir + "/disk"
		self.shim = shutil.copy(here.which(SHIM), here.dir)  # where the server can read it
		self.set(0)

	def environment(self):
		return "SLOW_DISK=%s LD_PRELOAD=%s" % (self.path, self.shim)

	def set(self, delay_ms):
		fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
		os.pwrite(fd, struct.pack("=q", delay_ms * 1000), 0)
		os.close(fd)


def commit_us(there):
	"""How long a commit takes, in the median of nine."""
	rows = there.sql("CREATE TABLE probe(i INT) ENGINE=InnoDB;" + 9 * ("START TRANSACTION; INSERT INTO probe VALUES(1); SET @at=SYSDATE(6); COMMIT;"
			 "SELECT TIMESTAMPDIFF(MICROSECOND,@at,SYSDATE(6));") + "DROP TABLE probe", "fleet")
	return sorted(int(row[0]) for row in rows)[4]


def run_fleet(there, disk, delay, case, *queue):
	"""From rest.  The disk is slow only while the fleet works."""
	there.settle()
	disk.set(delay)
	try:
		took = commit_us(there)
		if took < delay * 1000:
			raise Trouble("a commit takes %d us on a disk that should need %d ms: %s has no effect" % (took, delay, SHIM))
		ran = there.run(["bench-fleet", *queue, "-t", str(case.workers), "-n", str(case.slots), "-c", str(case.command), "-w", str(case.warm_s()),
				 "-d", str(case.warm_s() + case.measured_s()), "-S", str(there.pid())])
	finally:
		disk.set(0)
	return dict(ran.json(), words=ran.err)


class Figures:
	"""A case on one disk: its row, and what bench-fleet told of each run."""

	def __init__(self, table, case, binlog, delay):
		self.case, self.delay, self.ours, self.theirs = case, delay, [], []
		self.head = [case.name(), "yes" if binlog else "no", str(delay)]
		self.row = table.row("fleet", "%s%s, fsync + %d ms" % (case.name(), ", binary log" if binlog else "", delay), "% busy", "row queue",
				     [Wanted("ours", 100 * case.busy)] if delay <= case.up_to_ms else [])

	def keep(self, here, who, result):
		"""WHO: ours or theirs."""
		getattr(self, who).append(result)
		getattr(self.row, who).append(100 * result["busy"])
		side = "ours" if who == "ours" else "the row queue"
		here.say("   %s: %s: %s" % (self.row.name, side, "; ".join("%s %s" % (c[0], shown) for c, shown in zip(COLUMNS, self.cells(result)))))
		if result["failed"]:
			here.note("fleet: %s: %s: %d workers failed, the first with: %s" % (self.row.name, side, result["failed"], result["words"]))
		if result["left"]:
			here.note("fleet: %s: %s: %d workers had no answer ten seconds after the end" % (self.row.name, side, result["left"]))

	@staticmethod
	def cells(result):
		return [form % (result[key] * factor) if result else "-" for _, key, factor, form in COLUMNS]

	def lines(self):
		for ours, theirs in itertools.zip_longest(self.ours, self.theirs):
			yield self.head + [" / ".join(pair) for pair in zip(self.cells(ours), self.cells(theirs))]


def run_ours(there, disk, figures, stack):
	cnf = there.lab + "/fleet.cnf"
	there.push(cnf, stack, figures.case.entries())
	figures.keep(there, "ours", run_fleet(there, disk, figures.delay, figures.case, "-f", cnf, "-s", stack))


def run_rows(there, disk, figures, rows):
	rows.load(figures.case.entries())
	figures.keep(there, "theirs", run_fleet(there, disk, figures.delay, figures.case, "-f", rows.cnf, "-D", "rowqueue"))


def measure_server(here, disk, table, binlog, all_figures):
	with here.server("fleet-%d" % binlog, here.binlog_settings(binlog), disk.environment()) as there:
		there.database("fleet")
		rows, crowds = section_ledger.Rows(there), []
		for delay in QUICK_MS if here.quick else DELAYS_MS:
			for number, case in enumerate(here.chosen(CASES)):
				if case.delays is not None and delay not in case.delays:
					continue
				figures = Figures(table, case, binlog, delay)
				all_figures.append(figures)
				for i in range(here.runs):
					run_ours(there, disk, figures, "f%d.%d.%d" % (delay, number, i))
					if case.workers < CROWD:
						run_rows(there, disk, figures, rows)
					else:
						crowds.append(figures)
		for figures in sorted(crowds, key=lambda figures: figures.case.workers):
			run_rows(there, disk, figures, rows)
			if figures.theirs[-1]["busy"] < STILL or figures.theirs[-1]["left"]:
				here.note("fleet: %s: the row queue stood still; it was not asked to serve as many workers on a slower disk, or more"
					  % figures.row.name)
				break


def measure(here, table):
	disk, all_figures = Disk(here), []
	try:
		for binlog in (False, True):
			measure_server(here, disk, table, binlog, all_figures)
	finally:
		here.note("ours / row queue, each run:\n\n" + markdown(["workers x slots, commands", "binary log", "fsync +, ms"] + [c[0] for c in COLUMNS],
			  [line for figures in all_figures for line in figures.lines()]))
