# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults where a whole machine stands still: it is suspended, or a virtual machine is paused."""
import signal
import time

import place
from faults import kind


def stop_all(pids):
	"""Stops these processes and all below them; those that there were."""
	stopped = []
	while pids:
		for pid in pids:
			place.kill(pid, signal.SIGSTOP)
		stopped += pids
		pids = [c for pid in stopped for c in place.children(pid) if c not in stopped]
	return stopped


def clock_of(target):
	return target["process"].clock if target["process"] else None


@kind("clock-pause")
def clock_pause(field, rng):
	"""Worker, keeper and commands stop together for longer than the lease.  Their clocks run on, as those of a machine that
	was suspended; or they stand still, and the wall clock is set right before they go on, or is not."""
	ours = rng.random() < 0.7  # one under clocks that can stand still
	target = field.choose(rng, lambda v: v["keeper"] and not field.is_stopped(v) and (not ours or clock_of(v)))
	if not target:
		return None
	clock = clock_of(target)
	how = "suspended" if clock is None else rng.choice(("suspended", "paused", "unnoticed"))
	field.paused.add(target["pid"])
	pids, row = stop_all([target["keeper"], target["pid"]]), target["row"]
	stop = time.monotonic_ns()

	def go_on():
		if how != "suspended":
			clock.stood_still((time.monotonic_ns() - stop) / 1e9, how == "paused")
		field.load.record(what="pause", worker=row["worker"], lease=row["lease"], how=how, pids=pids, stop=stop,
				  go_on=time.monotonic_ns())
		for pid in reversed(pids):  # the commands first: they have the longest time to do harm
			place.kill(pid, signal.SIGCONT)
		field.paused.discard(target["pid"])

	field.later(row["lease"] * rng.choice((1.5, 2, 2.5)) + rng.random(), go_on)
	return [row]
