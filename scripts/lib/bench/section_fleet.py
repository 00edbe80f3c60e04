# SPDX-License-Identifier: BSD-2-Clause
"""
fleet: the share of slot time in which a command runs, in fleets of workers (bench-fleet), on servers with and without a
binary log whose fsync takes 0 to 10 ms longer (slow-disk.c).  Each worker is a thread with a connection of its own that
decides as a real worker does; its commands only sleep.  Warming up (two rounds of commands) is not counted.
"""
import contextlib
import json
import os
import subprocess

from place import Trouble
from table import Wanted

WARM, MEASURED = 2, 3  # rounds of commands
LEAST_S = 15  # is measured


class Case:
	def __init__(self, workers, slots, command, busy, up_to_ms, quick=False):
		self.workers, self.slots, self.command, self.busy, self.up_to_ms, self.quick = workers, slots, command, busy, up_to_ms, quick

	def name(self):
		return "%s workers, %d slots, %g s" % ("{:,}".format(self.workers), self.slots, self.command)

	def seconds(self):
		return max(MEASURED * self.command, LEAST_S)

	def entries(self):
		rounds = WARM + self.seconds() / self.command + 3
		return int(self.workers * self.slots * rounds)


CASES = (
	Case(100, 8, 2, 0.98, 5, quick=True), Case(200, 32, 1, 0.95, 2, quick=True),
	Case(1000, 64, 10, 0.98, 5), Case(1000, 64, 60, 0.98, 5),
)
DELAYS_MS = (0, 1, 2, 5, 10)
QUICK_MS = (0, 2, 5)


@contextlib.contextmanager
def server(here, binlog, delay_ms):
	"""A server of its own, with such a disk."""
	name = "%s/fleet-%d-%d" % (here.dir, binlog, delay_ms)
	program = name + ".sh"
	real = subprocess.run(["bash", "-c", '. "$1/scripts/lib/mariadb-lab.sh"; db_lab_program', "bench", here.top], capture_output=True, text=True).stdout.strip()
	with open(program, "w") as f:
		f.write('#!/bin/sh\nSLOW_DISK_US=%d LD_PRELOAD=%s exec %s "$@"\n' % (delay_ms * 1000, here.which("libbench-slow-disk.so"), real))
	os.chmod(program, 0o755)
	env = dict(os.environ, JOBSTACK_LAB_DB=program, LAB_SETTINGS="innodb-buffer-pool-size=1G\nmax-connections=1300\nback-log=1300\n"
		   "open-files-limit=8192\n" + ("server-id=1\nlog-bin=binlog\nsync-binlog=1" if binlog else "skip-log-bin"))

	def lab(*words):
		done = subprocess.run(["bash", "-c", 'set -euo pipefail; . "$1/scripts/lib/mariadb-lab.sh"; shift; "$@"', "bench", here.top, *words], env=env,
				      stdin=subprocess.DEVNULL, capture_output=True, text=True)
		if done.returncode != 0:
			raise Trouble("%s: %s" % (" ".join(words), done.stderr.strip()))
	os.chmod(here.dir, 0o711)
	try:
		lab("db_lab_up", name)
		lab("db_lab_database", name, "fleet")
		took = commit_us(here, name)
		if took < delay_ms * 1000:
			raise Trouble("a commit takes %d us on a disk that should need %d ms: %s has no effect" % (took, delay_ms, "libbench-slow-disk.so"))
		yield name
	finally:
		lab("db_lab_down", name)
		subprocess.run(["rm", "-rf", name, program], check=True)


def commit_us(here, lab):
	"""How long a commit takes, in the median of nine."""
	text = "CREATE TABLE fleet.probe(i INT) ENGINE=InnoDB;" + 9 * ("START TRANSACTION; INSERT INTO fleet.probe VALUES(1); SET @at=SYSDATE(6); COMMIT;"
		"SELECT TIMESTAMPDIFF(MICROSECOND,@at,SYSDATE(6));") + "DROP TABLE fleet.probe"
	done = subprocess.run([here.client, "--defaults-file=%s/admin.cnf" % lab, "--batch", "--skip-column-names"], input=text, capture_output=True, text=True)
	if done.returncode != 0:
		raise Trouble("SQL: %s" % done.stderr.strip())
	return sorted(int(line) for line in done.stdout.split())[4]


def cpu_seconds(pid):
	with open("/proc/%d/stat" % pid) as f:
		fields = f.read().rpartition(")")[2].split()
	return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_case(here, lab, case, stack):
	cnf = lab + "/fleet.cnf"
	with open(lab + "/pid") as f:
		pid = int(f.read())
	here.push(cnf, stack, case.entries())
	before = cpu_seconds(pid)
	ran = here.run(["bench-fleet", "-f", cnf, "-s", stack, "-t", str(case.workers), "-n", str(case.slots), "-c", str(case.command),
			"-w", str(WARM * case.command), "-d", str(WARM * case.command + case.seconds())], cnf)
	result = json.loads(ran.out)
	result["server_cpu"] = (cpu_seconds(pid) - before) / ran.seconds
	if result["failed"]:
		here.note("fleet: %s: %d workers failed: %s" % (case.name(), result["failed"], ran.err))
	return result


def measure(here, table):
	for binlog in (False, True):
		for delay in QUICK_MS if here.quick else DELAYS_MS:
			with server(here, binlog, delay) as lab:
				here.run(["jobstack", "init", "-q"], lab + "/fleet.cnf")
				for number, case in enumerate(here.chosen(CASES)):
					wanted = [Wanted("ours", case.busy)] if delay <= case.up_to_ms else []
					name = "%s%s, %d ms" % (case.name(), ", binary log" if binlog else "", delay)
					row = table.row("fleet", name, "busy", wanted=wanted)
					for i in range(here.runs):
						r = run_case(here, lab, case, "f%d.%d" % (number, i))
						row.ours.append(r["busy"])
					here.say("   %s: busy %.3f; %.0f entries/s in %.0f steps/s, a step takes %.0f ms (p99 %.0f ms), server %.2f cores"
						 % (name, row.median(row.ours), r["entries"], r["steps"], r["p50_ms"], r["p99_ms"], r["server_cpu"]))
