# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults where memory runs out: the Nth allocation of a process fails, or that one and all after it."""
import json
import random

import place
from faults import kind


MOST = 1500  # allocations of a short run of a tool; a worker makes more as it goes on


class BadMemory:
	"""The environment of processes whose memory will run out, and whether it has.  Small numbers are as likely as large."""

	def __init__(self, field, rng):
		self.file = field.load.dir / ("fired-%d" % rng.randrange(10 ** 9))
		self.file.touch()
		self.shim, self.rng = field.campaign.root / "shim.so", rng

	def environment(self):
		n = int(MOST ** self.rng.random())
		return {"LD_PRELOAD": str(self.shim), "FAULT_FIRED": str(self.file),
			"FAULT_MALLOC": "%d%s" % (n, self.rng.choice(("", "", "+")))}

	def fired(self):
		return self.file.stat().st_size > 0


@kind("memory-push")
def memory_push(field, rng):
	"""A push of a few more names; it is repeated until it is through."""
	load = field.load
	stack = rng.choice(load.stacks)
	if not field.campaign.db.answers():
		return None
	with load.lock:
		names = ["/e/m%d/ok/%d" % (len(stack.extra) + i, rng.randint(1, 50)) for i in range(3)]
		stack.extra += names
		extra = ["push", "-q", "--unique", "-s", stack.name] + names
	stack.unpushed += 1
	memory = BadMemory(field, rng)
	for _ in range(4):  # whatever of them comes through: a name counts once
		load.tool(*extra, **memory.environment())

	def rest():
		for _ in range(60):
			if load.tool(*extra)[0] == 0:
				break
			load.settled.wait(0.3)
		else:
			raise RuntimeError("a push that ran out of memory can't be repeated")
		stack.unpushed -= 1

	load.thread(rest)
	return [dict(worker=0, open=len(names))] if memory.fired() else None


def pop(field, rng, memory):
	"""One entry, popped by a script; None if there was none."""
	stack = rng.choice(field.load.stacks)
	if not field.campaign.db.answers():
		return None
	status, out = field.load.tool("pop", "-q", "--json", "--lease", "3", "-s", stack.name, **memory)
	return json.loads(out) if status == 0 and out else None


def finish(field, entry, **first):
	"""Runs the command on it and closes it, in a thread: the faults go on."""
	load = field.load
	env = load.entry_environment(entry)

	def rest():
		load.close(entry, load.witness_of(entry, env), env, **first)

	load.thread(rest)


@kind("memory-pop")
def memory_pop(field, rng):
	if not field.campaign.db.answers():
		return None
	memory = BadMemory(field, rng)
	for _ in range(4):
		entry = pop(field, rng, memory.environment())
		if entry:
			finish(field, entry)
	return [dict(worker=0, open=4)] if memory.fired() else None


@kind("memory-close")
def memory_close(field, rng):
	entry = pop(field, rng, {})
	if not entry:
		return None
	memory = BadMemory(field, rng)
	finish(field, entry, **memory.environment())
	return [dict(worker=entry["worker"], open=1)] if place.wait_for(4, memory.fired) else None


@kind("memory-worker")
def memory_worker(field, rng):
	"""A worker more, with little memory."""
	load = field.load
	stack = rng.choice(load.stacks)
	memory = BadMemory(field, rng)
	command = load.worker_command(random.Random(rng.random()), stack)
	env = dict(load.environment, FAULT_SLOT="m", **memory.environment())
	process = load.popen(command, "memory-%d" % len(load.processes), env=env)
	process.role, process.proxy, process.clock = "worker", None, None

	def row():
		return [r for r in field.sample.rows if r["pid"] in [process.pid] + place.children(process.pid)]

	def unless_born():
		"""It may never get beyond OpenSSL (Load.tool)."""
		if process.poll() is None and not row():
			place.kill(process.pid)

	field.later(15, unless_born)
	if not place.wait_for(4, memory.fired):
		return None
	return row() or [dict(worker=0, open=0)]
