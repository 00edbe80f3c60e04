# SPDX-License-Identifier: BSD-2-Clause
"""
depth: does a pop cost more when the list is long?  One client closes one entry and claims the next, in turn in stacks of
very different depth that all lie in the same database; and what it takes to tell how a stack stands, with a thousand
workers alive in it.
"""
import json
import os
import pty
import signal
import subprocess
import threading
import time

from place import Trouble
from section_idle import cpu_seconds
from table import Wanted

WORKERS = 1000


def top_cost(here, cnf, stack, table, depth):
	"""jobstack top, in a terminal of 80x24 that is read all the time: its CPU, and what it asks the server."""
	seconds, every = (20 if here.quick else 60), 2
	cpu = table.row("depth", "jobstack top, %s deep, 1,000 workers: CPU, %% of a core" % depth, "%", "", [Wanted("ours", 1, most=True)])
	asked = table.row("depth", "the same: questions per refresh", "")
	pid, screen = pty.fork()
	if pid == 0:
		os.environ.update(TERM="xterm", LINES="24", COLUMNS="80", JOBSTACK_DEFAULTS_FILE=cnf)
		os.execvp("jobstack", ["jobstack", "top", stack])
	seen = bytearray()

	def read():
		try:
			while data := os.read(screen, 65536):
				seen.extend(data)
		except OSError:  # it has ended
			pass

	reader = threading.Thread(target=read)
	reader.start()
	try:
		here.wait_for("top shows the stack", lambda: b"pushed" in seen)
		time.sleep(every)
		questions, before, began = here.status("Questions"), cpu_seconds(pid), time.monotonic()
		time.sleep(seconds)
		after, took = cpu_seconds(pid), time.monotonic() - began
		questions = here.status("Questions") - questions
	finally:
		os.kill(pid, signal.SIGTERM)
		os.waitpid(pid, 0)
		reader.join()
		os.close(screen)
	quiet = here.status("Questions")
	time.sleep(seconds)  # what the workers ask meanwhile
	quiet = here.status("Questions") - quiet
	cpu.ours.append((after - before) / took * 100)
	asked.ours.append(max(0, questions - quiet) * every / took)


def status_times(here, cnf, stack, table, depth):
	api = table.row("depth", "jobstack_status, %s deep, 1,000 workers" % depth, "ms", "", [Wanted("ours", 20, most=True)])
	both = table.row("depth", "the same and jobstack_workers", "ms")
	command = table.row("depth", "the command: jobstack status -s", "ms")
	argv = ["bench-depth", "status", cnf, "100", str(WORKERS), stack]
	process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	try:
		line = process.stdout.readline()
		if not line:
			raise Trouble("bench-depth status told nothing")
		answer = json.loads(line)
		api.ours.append(answer["status"]["p50"] / 1000)
		both.ours.append(answer["with_workers"]["p50"] / 1000)
		here.note("depth: jobstack_status: the median of 100 calls; 99 of them took less than %.1f ms" % (answer["status"]["p99"] / 1000))
		for _ in range(max(5, here.runs)):
			command.ours.append(here.run(["jobstack", "status", "-s", stack], cnf).seconds * 1000)
		top_cost(here, cnf, stack, table, depth)
	finally:
		process.stdin.close()
		process.wait()
		process.stdout.close()


def measure(here, table):
	depths = (("10 thousand", 10000), ("100 thousand", 100000), ("1 million", 1000000)) if here.quick else \
		(("10 thousand", 10000), ("1 million", 1000000), ("10 million", 10000000))
	pops = 2000 if here.quick else 5000
	cnf = here.database("depth")
	began = time.monotonic()
	for name, n in depths[1:]:
		here.push(cnf, "deep%d" % n, n)
	here.say("   pushed in %.0f s" % (time.monotonic() - began))
	deepest = depths[-1]
	halves = {}
	for which, wanted in (("p50", []), ("p99", [Wanted("ratio", 1.2, most=True)])):
		for name, n in depths[1:]:
			halves[which, n] = table.row("depth", "%s of a pop and close, %s deep" % (which, name), "us", "10 thousand deep",
						     wanted if n == deepest[1] else [])
	for i in range(here.runs):
		# A fresh small one each time: the pops of all runs together are more than it has.
		here.push(cnf, "small%d" % i, depths[0][1])
		here.settle()
		stacks = ["small%d" % i] + ["deep%d" % n for _, n in depths[1:]]
		answer = here.run(["bench-depth", "pops", cnf, str(pops), *stacks]).json()
		for (which, n), row in halves.items():
			row.ours.append(answer["deep%d" % n][which])
			row.theirs.append(answer["small%d" % i][which])
	status_times(here, cnf, "deep%d" % deepest[1], table, deepest[0])
	here.drop("depth")
