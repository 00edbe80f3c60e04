# SPDX-License-Identifier: BSD-2-Clause
"""
idle: what a worker costs while its commands take their time: one worker with 64 slots, all of them in a command that
sleeps.  Memory is that of the worker and its keeper (PSS: shared pages count by their share), CPU what the kernel counted
both over a minute, queries what the server counted meanwhile less our own questions.
"""
import os
import signal
import time

from place import Trouble
from table import Wanted

SLOTS = 64


def children(pid):
	found = []
	for entry in os.listdir("/proc"):
		if entry.isdigit():
			try:
				with open("/proc/%s/stat" % entry) as f:
					if int(f.read().rpartition(")")[2].split()[1]) == pid:
						found.append(int(entry))
			except (OSError, IndexError):
				pass
	return found


def command_name(pid):
	try:
		with open("/proc/%d/comm" % pid) as f:
			return f.read().strip()
	except OSError:
		return ""


def memory_mib(pid):
	with open("/proc/%d/smaps_rollup" % pid) as f:
		lines = {line.split(":")[0]: line.split()[1] for line in f if line.split()[-1] == "kB"}
	return int(lines["Pss"]) / 1024, int(lines["Rss"]) / 1024


def cpu_seconds(pid):
	"""Its own; not that of children that it reaped."""
	with open("/proc/%d/stat" % pid) as f:
		fields = f.read().rpartition(")")[2].split()
	return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def running(keeper):
	"""The worker below KEEPER, and how many commands it has."""
	for worker in children(keeper):
		return worker, sum(command_name(p) == "sleep" for p in children(worker))
	return 0, 0


def measure(here, table):
	seconds = 20 if here.quick else 75
	pss = table.row("idle", "%d slots asleep: PSS of worker and keeper" % SLOTS, "MiB", "", [Wanted("ours", 16, most=True)])
	rss = table.row("idle", "the same: RSS", "MiB")
	cpu = table.row("idle", "CPU, %% of a core, over %d s" % seconds, "%", "", [Wanted("ours", 0.5, most=True)])
	queries = table.row("idle", "questions at the server, over %d s" % seconds, "/s", "", [Wanted("ours", 1, most=True)])
	cnf = here.database("idle")
	names = here.dir + "/asleep"
	with open(names, "w") as f:
		f.write("600\n" * SLOTS)
	here.run(["jobstack", "push", "-q", "-s", "idle"], cnf, names)
	with open(os.devnull, "rb") as null, open(here.dir + "/idle.err", "wb") as err:
		argv = ["jobstack-worker", "-s", "idle", "--slots", str(SLOTS), "--grace", "1s", "--", "/bin/sleep"]
		process = here.start(argv, cnf, null, err, err)
	try:
		here.wait_for("%d commands run" % SLOTS, lambda: running(process.pid)[1] == SLOTS)
		both = (process.pid, running(process.pid)[0])
		time.sleep(5)  # what the start has left to do (a first look round, the connection let go) is not idleness
		cpu_before, asked_before, began = sum(map(cpu_seconds, both)), here.status("Questions"), time.monotonic()
		time.sleep(seconds)
		cpu_after, asked_after, took = sum(map(cpu_seconds, both)), here.status("Questions"), time.monotonic() - began
		again = here.status("Questions")
		if process.poll() is not None or running(process.pid) != (both[1], SLOTS):
			raise Trouble("the worker did not stay with its %d commands" % SLOTS)
		memory = [memory_mib(pid) for pid in both]
	finally:
		process.send_signal(signal.SIGTERM)
		process.wait(30)
	pss.ours.append(sum(m[0] for m in memory))
	rss.ours.append(sum(m[1] for m in memory))
	cpu.ours.append((cpu_after - cpu_before) / took * 100)
	# From one of our questions to the next there is one question, and what its client says when it comes and goes.
	queries.ours.append(max(0, asked_after - asked_before - (again - asked_after)) / took)
	here.note("idle: one measurement; keeper and worker: PSS %.1f and %.1f MiB" % (memory[0][0], memory[1][0]))
	here.drop("idle")
