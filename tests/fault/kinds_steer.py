# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults that are people who steer, and who are killed in the middle of it."""
import json
import random
import signal

import place
from faults import kind


def cut_short(field, rng, *command):
	"""A run of jobstack, killed after a moment or two, if it has not ended by then; its status and output."""
	process = field.load.popen(["jobstack"] + list(command), "steer")
	field.load.over.wait(rng.choice((0.01, 0.02, 0.04, 0.08)) * rng.uniform(0.5, 1.5))
	place.kill(process.pid, signal.SIGKILL)
	return process.wait()


def insist(field, *command, good=(0,)):
	"""The same command until it is said yes or no: five minutes at most, for the server may be away.  Its status."""
	tries = []

	def said():
		tries.append(field.load.tool(*command)[0])
		return tries[-1] in good

	place.wait_for(300, said, nap=0.3)
	return tries[-1]


@kind("cancel-resume")
def cancel_resume(field, rng):
	"""A stack is cancelled while it runs, by somebody who may be killed; it is resumed a moment later."""
	stack = rng.choice(field.load.stacks).name
	rows = [r for r in field.all_rows() if r["stack"] == stack]
	if not rows:
		return None
	cut_short(field, rng, "cancel", "-q", "-s", stack, "--all")
	status = field.load.tool("cancel", "-q", "-s", stack, "--all")[0] if rng.random() < 0.5 else 0
	nap, ended = rng.uniform(0.3, 1), []

	def resume():
		field.load.over.wait(nap)
		insist(field, "resume", "-q", "-s", stack)
		ended.append(True)

	# Not by field.later: whoever heals one thing after the other may have to start the server first, for which this waits.
	field.load.thread(resume)
	field.awaited.append(lambda: bool(ended))
	return rows if status == 0 else None


@kind("prune-kill")
def prune_kill(field, rng):
	"""What is done goes into an archive, in two tries of which the first is killed.  (The audit reads the archives.)"""
	done = field.campaign.db.query("SELECT s.name,COUNT(*) FROM attempt a JOIN stack s USING(stack_id) WHERE final=1 GROUP BY s.name",
				       field.load.name, timeout=3)
	if not done:
		return None
	stack, n = rng.choice(done)
	command = ["prune", "-q", "-s", stack, "--older-than", "0", "--archive", str(field.load.dir / ("archive." + stack))]
	cut_short(field, rng, *command)
	field.load.tool(*command)
	return [dict(worker=0, open=int(n))]


@kind("move-kill")
def move_kill(field, rng):
	"""Dead entries go to another stack, in two tries of which the first is killed."""
	dead = field.campaign.db.query("SELECT s.name,COUNT(*) FROM set_aside d JOIN stack s USING(stack_id) WHERE to_stack IS NULL AND "
				       "s.name<>'%s' GROUP BY s.name" % field.load.elsewhere.name, field.load.name, timeout=3)
	if not dead:
		return None
	stack, n = rng.choice(dead)
	command = ["requeue", "-q", "-s", stack, "--to", field.load.elsewhere.name]
	cut_short(field, rng, *command)
	field.load.tool(*command)
	return [dict(worker=0, open=int(n))]


@kind("drop-kill", early=1)
def drop_kill(field, rng):
	"""A stack of its own is dropped by somebody who is killed, and dropped again; then one of its name is made, which must
	have just what is pushed to it; and that is dropped, too."""
	load, rng = field.load, random.Random(rng.random())
	stack = "%s.drop%d" % (load.name, next(field.order))
	names = ["/e/%d/ok/1" % i for i in range(1, 401)]
	ended = []

	def wrong(words):
		load.record(what="wrong", stack=stack, words=words)

	def once():
		for n in (len(names), 20):
			if insist(field, "push", "-q", "--unique", "-s", stack, *names[:n]) != 0:
				wrong("the push did not end")
			there = load.tool("status", "--json", "-s", stack)[1]
			if there and json.loads(there)["pushed"] != n:
				wrong("%d names were pushed: %s" % (n, there))
			for _ in range(2):
				cut_short(field, rng, "drop", "-q", "-s", stack, "--yes")
			if insist(field, "drop", "-q", "-s", stack, "--yes", good=(0, 2)) not in (0, 2):
				wrong("the drop did not end")
		ended.append(True)

	load.thread(once)
	field.awaited.append(lambda: bool(ended))
	return [dict(worker=0, open=len(names))]
