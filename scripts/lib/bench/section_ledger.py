# SPDX-License-Identifier: BSD-2-Clause
"""
ledger: entries closed a second, when all that is done with an entry is to claim it and to close it.  Ours are workers of
the public API, a connection and a thread each, whose steps close the last K and claim the next K in one transaction; theirs
is the row queue of rowqueue.c, with as many connections, as many entries at once, on the same server, in turns.  What is timed
is the steady part: all are connected and hold entries when the clock starts (crew.h).

	scattered    the entries are every second one of those that were pushed: requeued after the others were done
	0.25 ms      each trip to the server takes that much longer (delay.c); both go through the same proxy
	snapshot     another session holds a view of the data that is as old as the first of these runs, so nothing that
	             either side deletes can be purged
"""
import contextlib
import subprocess

from place import Session, Trouble
from table import Wanted

DELAY_US = 250
LUMP = 1000000


def per_second(value):
	return Wanted("ours", value)


class Case:
	def __init__(self, threads, k, wanted=(), quick=False, scattered=False, delay=False, snapshot=False):
		self.threads, self.k, self.wanted, self.quick = threads, k, wanted, quick
		self.alone = threads >= 1000 # the row queue then stands still, and its server with it, for minutes
		self.scattered, self.delay, self.snapshot = scattered, delay, snapshot

	def name(self):
		return "%s connections, %d at once%s%s%s" % ("{:,}".format(self.threads), self.k, ", scattered" if self.scattered else "",
							     ", 0.25 ms" if self.delay else "", ", snapshot" if self.snapshot else "")


CASES = (
	Case(1, 1), Case(16, 1), Case(200, 1, [per_second(3000), Wanted("ratio", 10)], quick=True),
	Case(1, 100), Case(16, 100), Case(200, 100, [per_second(150000), Wanted("ratio", 25)], quick=True),
	Case(200, 1, [per_second(2500)], quick=True, delay=True), Case(200, 100, [per_second(100000)], quick=True, delay=True),
	Case(200, 100, [per_second(100000)], quick=True, scattered=True),
	Case(200, 1, snapshot=True), Case(200, 100, snapshot=True),
	Case(1000, 1, [per_second(1500)], quick=True), Case(1000, 100, [per_second(75000)], quick=True),
)


def crew(ran):
	"""What a crew tells (crew.h), with the words of the first that failed."""
	return dict(ran.json(), words=ran.err)


@contextlib.contextmanager
def proxy(here):
	"""The port of a server that is a bit further away."""
	process = subprocess.Popen(["bench-delay", str(here.port), str(DELAY_US)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	try:
		yield int(process.stdout.readline())
	finally:
		process.stdin.close()
		process.wait()
		process.stdout.close()


class Rows:
	"""The row queue.  It starts as deep as our stacks are at the least, with the same names."""

	def __init__(self, here):
		self.here, self.scattered, self.cnf = here, False, here.database("rowqueue", init=False)
		self.sql("CREATE TABLE queue (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, state TINYINT UNSIGNED NOT NULL DEFAULT 0,"
			 "attempt INT UNSIGNED NOT NULL DEFAULT 0, worker INT UNSIGNED NULL, claimed DATETIME(6) NULL, ended DATETIME(6) NULL,"
			 "exit_code INT NULL, datapath VARBINARY(4096) NOT NULL, KEY state_id (state,id)) ENGINE=InnoDB")

	def sql(self, text):
		return self.here.sql(text, "rowqueue")

	def ensure_ready(self, least, lump, scattered):
		"""Scattered: as in ours, each second row is one that is of no use any more."""
		if scattered == self.scattered and int(self.sql("SELECT COUNT(*) FROM queue WHERE state=0")[0][0]) >= least:
			return
		self.load(lump, scattered)

	def load(self, lump, scattered=False):
		self.scattered = scattered
		self.sql("TRUNCATE TABLE queue; LOAD DATA INFILE '%s' INTO TABLE queue CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY '' "
			 "LINES TERMINATED BY '\\0' (datapath)" % self.here.names(lump * 2 if scattered else lump))
		if scattered:
			self.sql("UPDATE queue SET state=3 WHERE id%2=0")

	def run(self, case, port, seconds):
		return crew(self.here.run(["bench-rows", "-f", self.cnf, "-P", str(port), "-D", "rowqueue", "-t", str(case.threads),
					   "-k", str(case.k), "-d", str(seconds)]))


class Ours:
	def __init__(self, here):
		self.here, self.cnf = here, here.database("ledger")

	def worker(self, stack, threads, k, seconds, port, *more):
		return crew(self.here.run(["bench-ledger", "-f", self.cnf, "-P", str(port), "-s", stack, "-t", str(threads), "-k", str(k),
					   "-d", str(seconds), *more]))

	def scatter(self, lump):
		"""LUMP entries in spans that are lists: of twice as many, the odd ones failed for good and are requeued."""
		self.here.push(self.cnf, "scattered", lump * 2)
		self.worker("scattered", 8, 500, 600, self.here.port, "-x")
		self.here.run(["jobstack", "requeue", "-q", "-s", "scattered", "-t", "dead"], self.cnf)
		lists, all_spans = map(int, self.here.sql("SELECT COUNT(p.ids), COUNT(*) FROM span p JOIN stack s ON s.stack_id=p.stack_id "
						      "WHERE s.name='scattered'", "ledger")[0])
		self.here.say("   scattered: %d spans, %d of them lists" % (all_spans, lists))
		if self.here.counts(self.cnf, "scattered")["ready"] < lump * 0.99 or lists < lump / 500 * 0.9:
			raise Trouble("the scattered stack is not what it was to be")

	def ensure_ready(self, stack, least, lump):
		if stack == "even":
			self.here.push(self.cnf, stack, lump) if not self.ready(stack, least) else None
		elif not self.ready(stack, least):
			self.scatter(lump)

	def ready(self, stack, least):
		try:
			return self.here.counts(self.cnf, stack)["ready"] >= least
		except Trouble:
			return False # there is no such stack yet


def measure_case(here, table, case, ours, rows, seconds, lump):
	row = table.row("ledger", case.name(), "/s", "" if case.alone else "row queue", case.wanted)
	stack = "scattered" if case.scattered else "even"
	ours.ensure_ready(stack, lump * 0.8, lump)
	rows.ensure_ready(lump * 0.3, lump, case.scattered)
	with contextlib.ExitStack() as stack_of_things:
		port = stack_of_things.enter_context(proxy(here)) if case.delay else here.port
		if case.snapshot:
			here.settle()
			view = Session(here, "ledger", "START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT COUNT(*) FROM stack")
			stack_of_things.callback(view.close)
		for _ in range(here.runs):
			ours.ensure_ready(stack, lump * (0.2 if case.scattered else 0.8), lump)
			here.settle(history=not case.snapshot)
			mine = ours.worker(stack, case.threads, case.k, seconds, port)
			results = [("ours", mine)]
			row.ours.append(mine["rate"])
			if not case.alone:
				rows.ensure_ready(lump * 0.3, lump, case.scattered)
				here.settle(history=not case.snapshot)
				results.append(("row queue", rows.run(case, port, seconds)))
				row.theirs.append(results[1][1]["rate"])
			for who, result in results:
				if result["failed"]:
					here.note("ledger: %s: %s: %d threads failed, the first with: %s" % (row.name, who, result["failed"], result["words"]))
				if result["left"]:
					here.note("ledger: %s: %s: %d threads had no answer ten seconds after the end" % (row.name, who, result["left"]))
				if not result["failed"] and result["rounds"] < case.threads:
					here.note("ledger: %s: %s: %d rounds in all, so not every thread came round" % (row.name, who, result["rounds"]))
	here.say("   %s: %.0f/s%s" % (row.name, row.median(row.ours), "" if case.alone else ", row queue %.0f/s" % row.median(row.theirs)))


def measure(here, table):
	ours, rows = Ours(here), Rows(here)
	for case in here.chosen(CASES):
		seconds = 1.5 if here.quick else 2 if case.scattered or case.threads < 200 else 5 if case.threads >= 1000 else 3
		measure_case(here, table, case, ours, rows, seconds, 300000 if here.quick and case.scattered else LUMP)
	here.drop("ledger")
	here.drop("rowqueue")
