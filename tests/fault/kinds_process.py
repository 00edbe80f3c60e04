# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults that strike processes of ours: workers, keepers, pushers, scripts; and people who act at once."""
import json
import signal
import subprocess
import threading
import time

import place
from faults import kind


@kind("worker-kill")
def worker_kill(field, rng):
	target = field.choose(rng)
	return [target["row"]] if target and place.kill(target["pid"]) else None


@kind("keeper-kill")
def keeper_kill(field, rng):
	target = field.choose(rng, lambda v: v["keeper"])
	return [target["row"]] if target and place.kill(target["keeper"]) else None


@kind("both-kill")
def both_kill(field, rng):
	"""Worker and keeper in one breath, in either order."""
	return kill_both(rng, field.choose(rng, lambda v: v["keeper"]))


@kind("both-kill-su")
def both_kill_su(field, rng):
	"""The same under commands that the kernel spares: no other worker of the stack is on another host."""
	near = field.load.near.name
	return kill_both(rng, field.choose(rng, lambda v: v["keeper"] and v["row"]["stack"] == near and "FAULT_WRAP" in v["env"]))


def kill_both(rng, target):
	if not target:
		return None
	pids = [target["pid"], target["keeper"]]
	rng.shuffle(pids)
	for pid in pids:
		place.kill(pid, signal.SIGSTOP)  # so that neither sees the other go
	for pid in pids:
		place.kill(pid)
	return [target["row"]]


@kind("worker-stop")
def worker_stop(field, rng):
	"""Frozen, mostly beyond its lease; then it wakes."""
	target = field.choose(rng, lambda v: not field.is_stopped(v))
	if not target:
		return None
	field.freeze(target["pid"], target["row"]["lease"] * rng.choice((0.5, 1.5, 1.5, 2)) + rng.random())
	return [target["row"]]


@kind("keeper-stop")
def keeper_stop(field, rng):
	target = field.choose(rng, lambda v: v["keeper"] and not field.is_stopped(v))
	if not target:
		return None
	field.freeze(target["keeper"], target["row"]["lease"] * rng.choice((0.5, 1.5)) + rng.random())
	return [target["row"]]


@kind("worker-term")
def worker_term(field, rng):
	"""As preemption does: TERM, and sometimes at once again."""
	target = field.choose(rng)
	if not target or not place.kill(target["keeper"] or target["pid"], signal.SIGTERM):
		return None
	if rng.random() < 0.3:
		place.kill(target["pid"], signal.SIGTERM)
	return [target["row"]]


@kind("pusher-kill")
def pusher_kill(field, rng):
	"""In the middle of a push, which is then repeated with --unique."""
	pushers = [p for p in field.load.processes if getattr(p, "role", "") == "push" and p.poll() is None]
	if not pushers:
		return None
	field.load.over.wait(rng.random() * 0.3)
	return [] if place.kill(rng.choice(pushers).pid) else None


@kind("script-freeze")
def script_freeze(field, rng):
	"""The next script that pops freezes beyond its lease, and closes late."""
	hit = threading.Event()
	field.load.freeze = hit.set
	hit.wait(4)
	field.load.freeze = None
	return field.sample.of(lambda r: r["script"])[-1:] if hit.is_set() else None


@kind("requeue-twice")
def requeue_twice(field, rng):
	"""Two people requeue the same entries, at the same time, done or dead."""
	rows = field.campaign.db.query("SELECT s.name,a.entry_id FROM attempt a JOIN stack s USING(stack_id) WHERE final=1 "
				       "UNION ALL SELECT s.name,d.entry_id FROM set_aside d JOIN stack s USING(stack_id) WHERE to_stack IS NULL",
				       field.load.name, timeout=3)
	if not rows:
		return None
	stack = rng.choice(rows)[0]
	entries = [r[1] for r in rows if r[0] == stack]
	entries = rng.sample(entries, min(4, len(entries)))
	command = ["jobstack", "requeue", "--json", "-t", "done,dead", "-s", stack] + entries
	began = time.monotonic_ns()
	both = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
				 env=field.load.environment, cwd=field.load.dir) for _ in range(2)]
	got = 0
	for process in both:
		out = process.communicate()[0]
		got += json.loads(out)["requeued"] if process.returncode in (0, 1) and out else 0
	field.load.record(what="requeue", stack=stack, entries=[int(e) for e in entries], got=got, began=began, ended=time.monotonic_ns(),
			  sure=all(p.returncode in (0, 1) for p in both))
	return [dict(worker=0, open=len(entries))] if got else None
