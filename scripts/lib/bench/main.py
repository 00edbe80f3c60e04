# SPDX-License-Identifier: BSD-2-Clause
"""
Runs the sections that were asked for and prints the table.  Started by scripts/bench, which has brought up the server and
takes down whatever is left.  A section that fails is a row that says so, and status 1; the others go on.
"""
import argparse
import importlib
import os
import platform
import signal
import subprocess
import sys
import time

import place
import table

SETTINGS = ("version", "version_comment", "innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "innodb_log_file_size",
	    "innodb_redo_log_capacity", "innodb_doublewrite", "innodb_flush_method", "log_bin", "sync_binlog", "max_connections", "thread_handling",
	    "transaction_isolation", "tx_isolation", "innodb_purge_threads")


def first_line(argv):
	try:
		return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.splitlines()[0]
	except (OSError, IndexError):
		return "?"


def flush_us(directory):
	"""How long it takes to make 4 KiB durable beside the database, in the median: the price of a commit."""
	path, times = directory + "/.flush", []
	fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
	os.pwrite(fd, bytes(1 << 20), 0)
	os.fsync(fd)
	for i in range(200):
		began = time.monotonic()
		os.pwrite(fd, bytes(4096), i * 4096)
		os.fdatasync(fd)
		times.append(time.monotonic() - began)
	os.close(fd)
	os.unlink(path)
	return sorted(times)[100] * 1e6


def cpu_model():
	with open("/proc/cpuinfo") as f:
		return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.machine())


def memory_gib():
	with open("/proc/meminfo") as f:
		return int(f.readline().split()[1]) / (1 << 20)


def machine(here):
	settings = {name: here.variable(name) for name in SETTINGS}
	return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cpu": cpu_model(), "cores": len(os.sched_getaffinity(0)),
		"memory_gib": round(memory_gib(), 1), "kernel": platform.release(),
		"system": platform.freedesktop_os_release().get("PRETTY_NAME", "?"), "flush_us": round(flush_us(here.dir)),
		"commit": first_line(["git", "-C", here.top, "describe", "--always", "--dirty"]), "compiler": first_line([os.environ.get("CC", "cc"), "--version"]),
		"load": os.getloadavg()[0], "server": {k: v for k, v in settings.items() if v != "?"}}


def head(facts, here):
	s = facts["server"]
	return "\n".join([
		"jobstack %s, %s, -O2, %s" % (facts["commit"], facts["compiler"], facts["date"]),
		"%d x %s, %.1f GiB, %s, Linux %s; load before: %.2f; 4 KiB made durable in %d us" % (facts["cores"], facts["cpu"],
			facts["memory_gib"], facts["system"], facts["kernel"], facts["load"], facts["flush_us"]),
		"%s %s, on this machine: %s" % (s.get("version"), s.get("version_comment", ""), ", ".join("%s=%s" % kv for kv in s.items() if not kv[0].startswith("version"))),
		"Medians of %s (least-most), both sides taking turns.%s" % (times(here.runs), doubts(here)), ""])


def times(runs):
	return "one run" if runs == 1 else "%d runs" % runs


def doubts(here):
	if here.quick:
		return "  A quick look with small runs: not to be quoted."
	return "" if here.runs >= 5 else "  Fewer than the five that a result takes."


def hangs(*_):
	raise place.Trouble("a command has not ended after %d s" % place.PATIENCE_S)


def main():
	parser = argparse.ArgumentParser()
	for name in ("--top", "--work", "--only", "--json"):
		parser.add_argument(name)
	parser.add_argument("--match", default="")
	parser.add_argument("--runs", type=int)
	parser.add_argument("--quick", action="store_true")
	options = parser.parse_args()
	signal.signal(signal.SIGALRM, hangs)
	here = place.Place(options.top, options.work, options.runs, options.quick, options.match)
	if here.variable("innodb_flush_log_at_trx_commit") != "1":
		raise SystemExit("the server does not flush every commit")
	facts, figures, failed = machine(here), table.Table(), False
	began = time.monotonic()
	for name in options.only.split(","):
		here.say("== %s" % name)
		start = time.monotonic()
		try:
			importlib.import_module("section_" + name).measure(here, figures)
		except place.Trouble as e:
			figures.row(name, "(the section ended early)", "").missing = str(e)
			here.say("%s: %s" % (name, e))
			failed = True
		here.say("   took %d s" % (time.monotonic() - start))
	print(head(facts, here))
	print(figures.text())
	for words in here.notes:
		print("note: " + words)
	print("took %.1f min; %s" % ((time.monotonic() - began) / 60, ", ".join("%d %s" % (n, v) for v, n in figures.counts().items())))
	if options.json:
		with open(options.json, "w") as f:
			f.write(figures.json(quick=options.quick, runs=options.runs, machine=facts, notes=here.notes))
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
