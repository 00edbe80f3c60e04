# SPDX-License-Identifier: BSD-2-Clause
"""
persistent: entries a second through a command that is started once a slot and says "done" to each line (echo-done.c), from
the start of the worker to its end, with every outcome in the ledger.
"""
from place import Trouble
from table import Wanted


def measure(here, table):
	n = 100000 if here.quick else 400000
	row = table.row("persistent", "%s entries through echo-done, 2 slots" % "{:,}".format(n), "/s", "", [Wanted("ours", 20000)])
	if "--persistent" not in here.run(["jobstack-worker", "--help-all"]).out:
		row.missing = "this jobstack-worker does not know --persistent"
		return
	cnf = here.database("persistent")
	for i in range(here.runs):
		stack = "p%d" % i
		here.push(cnf, stack, n)
		here.settle()
		argv = ["jobstack-worker", "--persistent", "-s", stack, "--slots", "2", "--", here.which("echo-done")]
		row.ours.append(n / here.run(argv, cnf, keep=False).seconds)
		if here.counts(cnf, stack)["done"] != n:
			raise Trouble("%s: not all %d are done" % (stack, n))
	here.drop("persistent")
