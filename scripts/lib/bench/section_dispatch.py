# SPDX-License-Identifier: BSD-2-Clause
"""
dispatch: what it costs to run a command that does nothing, two at a time, from the start of the tool to its end.  All run
the same program by its path, with one of the same names as its argument.

	xargs -P2 -n1          what one types today.  It keeps no outcome and no output.
	posix_spawn            a loop that does only that: no tool can be faster.
	parallel --sqlworker   GNU parallel with its list in the same server; the nearest to us in what it promises.
	a Slurm job array      an element a name, on a Slurm of its own with two CPUs; context.

Ours keeps the output (the default) and has every outcome in the ledger when it ends.  Pushing, and filling GNU parallel's
table, is done before the clock starts.
"""
import os
import re

from place import Trouble
from table import Wanted

TRUE = "/bin/true"


def check_done(here, cnf, stack, n):
	if here.counts(cnf, stack)["done"] != n:
		raise Trouble("%s: not all %d entries are done" % (stack, n))


def option(path, key):
	with open(path) as f:
		return re.search("^%s=(.*)$" % key, f.read(), re.M).group(1)


class Parallel:
	"""GNU parallel, with its table in the server."""

	def __init__(self, here):
		self.here = here
		cnf = here.database("gnuparallel", init=False)
		self.url = "mysql://gnuparallel:%s@127.0.0.1:%d/gnuparallel/" % (option(cnf, "password"), here.port)
		self.env = {"HOME": here.dir, "TMPDIR": here.dir}

	def run(self, number, n):
		table = "t%d" % number
		names = self.here.names(n, "\n")
		self.here.run(["parallel", "--will-cite", "--sqlmaster", self.url + table, TRUE, "::::", names], keep=False, env=self.env)
		ran = self.here.run(["parallel", "--will-cite", "-j2", "--sqlworker", self.url + table], keep=False, env=self.env)
		done = int(self.here.sql("SELECT COUNT(*) FROM %s WHERE Exitval=0" % table, "gnuparallel")[0][0])
		if done != n:
			raise Trouble("GNU parallel: %d of %d done" % (done, n))
		return n / ran.seconds


def slurm_array(here, row, n):
	"""From sbatch to the end of the last element.  On a Slurm of its own, which is gone before anything else is measured."""
	script = here.dir + "/true.sbatch"
	with open(script, "w") as f:
		f.write("#!/bin/sh\nexec %s \"$SLURM_ARRAY_TASK_ID\"\n" % TRUE)
	here.lab_call("slurm", "slurm_lab_up", here.slurm, "1", "2")
	try:
		for _ in range(here.runs):
			ran = here.run(["bash", "-c", '. "$1/env.sh" && exec sbatch --wait --array=1-%d --output=/dev/null "$2"' % n, "bench", here.slurm, script])
			row.theirs.append(n / ran.seconds)
	finally:
		here.lab_call("slurm", "slurm_lab_down", here.slurm)


def measure(here, table):
	n, few, elements = (5000, 200, 20) if here.quick else (20000, 1000, 30)
	cnf = here.database("dispatch")
	names = here.names(n, "\n")
	what = "%s x true, 2 at a time" % "{:,}".format(n)
	xargs = table.row("dispatch", what, "/s", "xargs -P2 -n1", [Wanted("ratio", 1.2)])
	spawn = table.row("dispatch", what, "/s", "posix_spawn loop", [Wanted("ratio", 0.8)])
	sqlworker = table.row("dispatch", what, "/s", "parallel --sqlworker (%s)" % "{:,}".format(few), [Wanted("ratio", 25)])
	array = table.row("dispatch", what, "/s", "Slurm job array (%d)" % elements)
	parallel = None
	if here.which("parallel") is None or os.system("perl -MDBD::mysql -e 1 2>/dev/null") != 0:
		sqlworker.missing = "GNU parallel or its driver (libdbd-mysql-perl) could not be installed"
	else:
		parallel = Parallel(here)
	for i in range(here.runs):
		stack = "true%d" % i
		here.push(cnf, stack, n)
		here.settle()
		ours = n / here.run(["jobstack-worker", "-s", stack, "--slots", "2", "--", TRUE], cnf, keep=False).seconds
		check_done(here, cnf, stack, n)
		for row in (xargs, spawn, sqlworker, array):
			row.ours.append(ours)
		here.settle()
		xargs.theirs.append(n / here.run(["xargs", "-P2", "-n1", TRUE], stdin=names, keep=False).seconds)
		spawn.theirs.append(n / here.run(["bench-spawn", "2", TRUE], stdin=names, keep=False).seconds)
		if parallel:
			here.settle()
			sqlworker.theirs.append(parallel.run(i, few))
	slurm_array(here, array, elements)
	here.drop("dispatch")
	here.drop("gnuparallel") if parallel else None
