# SPDX-License-Identifier: BSD-2-Clause
"""
fleet: the share of slot time in which a command runs, in fleets of workers (bench-fleet), on servers with and without a
binary log whose fsync takes 0 to 10 ms longer (slow-disk.c).  Each worker is a thread with a connection of its own that
decides as a real worker does; its commands only sleep.  Warming up is not counted.  Beside it the same fleet takes its
entries from the row queue (rowqueue.h) on the same server.  Each case runs once, unless --runs says more.
"""
import contextlib
import os
import shutil

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
		"""Two rounds of commands; of the longest one, so that the whole section takes half an hour."""
		return min(2 * self.command, 60)

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
COLUMNS = (("busy, %", "busy", 100, "%.1f"), ("entries/s", "entries", 1, "%.0f"), ("steps/s", "steps", 1, "%.0f"), ("p50 of a step, ms", "p50_ms", 1, "%.0f"),
	   ("p99, ms", "p99_ms", 1, "%.0f"), ("server, cores", "server_cores", 1, "%.2f"))


@contextlib.contextmanager
def slow_server(here, binlog, delay_ms):
	"""A server of its own, with such a disk."""
	shim = shutil.copy(here.which(SHIM), here.dir)  # where the server can read it
	name = "fleet-%d-%d" % (binlog, delay_ms)
	with here.server(name, here.binlog_settings(binlog), "SLOW_DISK_US=%d LD_PRELOAD=%s" % (delay_ms * 1000, shim)) as there:
		there.database("fleet")
		took = commit_us(there)
		if took < delay_ms * 1000:
			raise Trouble("a commit takes %d us on a disk that should need %d ms: %s has no effect" % (took, delay_ms, SHIM))
		yield there


def commit_us(there):
	"""How long a commit takes, in the median of nine."""
	rows = there.sql("CREATE TABLE probe(i INT) ENGINE=InnoDB;" + 9 * ("START TRANSACTION; INSERT INTO probe VALUES(1); SET @at=SYSDATE(6); COMMIT;"
			 "SELECT TIMESTAMPDIFF(MICROSECOND,@at,SYSDATE(6));") + "DROP TABLE probe", "fleet")
	return sorted(int(row[0]) for row in rows)[4]


def run_case(there, case, *queue):
	ran = there.run(["bench-fleet", *queue, "-t", str(case.workers), "-n", str(case.slots), "-c", str(case.command), "-w", str(case.warm_s()),
			 "-d", str(case.warm_s() + case.measured_s()), "-S", str(there.pid())])
	result = dict(ran.json(), words=ran.err)
	there.wait_for("earlier clients have gone", there.alone, 180)
	return result


def run_ours(there, case, stack):
	cnf = there.lab + "/fleet.cnf"
	there.push(cnf, stack, case.entries())
	return run_case(there, case, "-f", cnf, "-s", stack)


def run_rows(there, case, rows):
	rows.load(case.entries())
	return run_case(there, case, "-f", rows.cnf, "-D", "rowqueue")


def doubts(here, name, who, result):
	if result["failed"]:
		here.note("fleet: %s: %s: %d workers failed, the first with: %s" % (name, who, result["failed"], result["words"]))
	if result["left"]:
		here.note("fleet: %s: %s: %d workers had no answer ten seconds after the end" % (name, who, result["left"]))


def measure_case(there, row, case, rows, stack):
	results = []
	for i in range(there.runs):
		ours, theirs = run_ours(there, case, "%s.%d" % (stack, i)), run_rows(there, case, rows)
		for who, result, values in (("ours", ours, row.ours), ("the row queue", theirs, row.theirs)):
			values.append(100 * result["busy"])
			doubts(there, row.name, who, result)
		results.append([" / ".join(form % (side[key] * factor) for side in (ours, theirs)) for _, key, factor, form in COLUMNS])
		there.say("   %s: %s" % (row.name, "; ".join("%s %s" % (c[0], r) for c, r in zip(COLUMNS, results[-1]))))
	return results


def measure(here, table):
	lines = []
	try:
		for binlog in (False, True):
			for delay in QUICK_MS if here.quick else DELAYS_MS:
				cases = [c for c in here.chosen(CASES) if c.delays is None or delay in c.delays]
				if cases:
					measure_server(here, table, cases, binlog, delay, lines)
	finally:
		if lines:
			here.note("ours / row queue, each run:\n\n" + markdown(["workers x slots, commands", "binary log", "fsync +, ms"] + [c[0] for c in COLUMNS], lines))


def measure_server(here, table, cases, binlog, delay, lines):
	with slow_server(here, binlog, delay) as there:
		rows = section_ledger.Rows(there)
		for number, case in enumerate(cases):
			row = table.row("fleet", "%s%s, fsync + %d ms" % (case.name(), ", binary log" if binlog else "", delay), "% busy", "row queue",
					[Wanted("ours", 100 * case.busy)] if delay <= case.up_to_ms else [])
			lines += [[case.name(), "yes" if binlog else "no", str(delay)] + r for r in measure_case(there, row, case, rows, "f%d" % number)]
