# SPDX-License-Identifier: BSD-2-Clause
"""
What every kind of fault needs: the list of kinds, victims, what was at risk, and what has to be healed later.  A kind
is a function strike(field, rng) that strikes once and returns the rows of the workers it struck (see load.Sample), or
None if there was nobody to strike.  All its choices come from RNG.
"""
import heapq
import itertools
import random
import signal
import threading
import time

import place

KINDS = {}  # name: function, in the order of the table


def kind(name, early=0, needs=()):
	"""Enters a kind.  EARLY: the longer it takes, the earlier it comes in a round.  NEEDS: slurm, server (a single one), cluster, or nothing."""
	def enter(function):
		function.kind, function.early, function.needs = name, early, needs
		KINDS[name] = function
		return function

	return enter


class Strike:
	"""One fault that struck."""

	def __init__(self, name, rows, began):
		self.kind, self.at = name, time.monotonic() - began
		self.workers = [r["worker"] for r in rows]
		self.risk = sum(r["open"] for r in rows)


class Field:
	"""One round's field of battle."""

	def __init__(self, campaign, load, sample):
		self.campaign, self.load, self.sample = campaign, load, sample
		self.heals, self.order, self.strikes, self.missed = [], itertools.count(), [], []
		self.awaited = []  # what takes its time to strike: true when it has
		self.paused = set()  # workers that nobody else may let go on
		self.lock, self.healing = threading.Lock(), threading.Lock()

	def later(self, seconds, heal):
		"""HEAL is called so much later, or when the faults are over; by a thread of its own, as a strike may take long."""
		with self.lock:
			heapq.heappush(self.heals, (time.monotonic() + seconds, next(self.order), heal))

	def due(self, everything):
		with self.lock:
			return heapq.heappop(self.heals)[2] if self.heals and (everything or self.heals[0][0] <= time.monotonic()) else None

	def heal(self, everything=False):
		with self.healing:
			while (heal := self.due(everything)) is not None:
				heal()

	def healer(self):
		while not self.load.over.is_set():
			self.heal()
			self.load.over.wait(0.03)

	def struck(self, name, rows):
		strike = Strike(name, rows, self.campaign.began)
		with self.lock:
			self.strikes.append(strike)
		workers = ",".join(map(str, strike.workers)) or "-"
		self.campaign.say("  %6.1f %-18s workers %s, %d at risk" % (strike.at, name, workers, strike.risk))

	def workers(self, condition=lambda v: True):
		"""The worker processes that live, with their keeper, environment, Popen object (None under Slurm) and row."""
		ours = {p.pid: p for p in self.load.processes if getattr(p, "role", "") == "worker"}
		rows = {r["pid"]: r for r in self.sample.rows}
		out = []
		for pid in place.named("jobstack-worker"):
			parent = int((place.stat_of(pid) or [0, 0])[1])
			if place.comm(parent) == "jobstack-worker":
				continue  # a command, a moment before its exec
			keeper = parent if place.comm(parent) == "jobstack-keeper" else None
			env = place.environ(pid)
			target = dict(pid=pid, keeper=keeper, env=env, process=ours.get(pid) or ours.get(parent), row=rows.get(pid),
				      job=env.get("SLURM_JOB_ID"))
			if target["row"] and condition(target):
				out.append(target)
		return out

	def choose(self, rng, condition=lambda v: True):
		"""A worker to hit, preferably one that holds entries."""
		all_of_them = self.workers(condition)
		busy = [v for v in all_of_them if v["row"]["open"] > 0] or all_of_them
		return rng.choice(busy) if busy else None

	def is_stopped(self, target):
		both = [pid for pid in (target["pid"], target["keeper"]) if pid]
		return target["pid"] in self.paused or any((place.stat_of(pid) or "T")[0] == "T" for pid in both)

	def freeze(self, pid, seconds):
		"""It goes on by a timer of its own: another heal may wait for just this process (to resume a stack needs the server)."""
		place.kill(pid, signal.SIGSTOP)
		timer = threading.Timer(seconds, place.kill, (pid, signal.SIGCONT))
		timer.daemon = True
		timer.start()
		self.later(seconds, lambda: place.kill(pid, signal.SIGCONT))

	def all_rows(self):
		return self.sample.of(lambda r: r["open"] > 0)


def deck(seed, names, number, size):
	"""What strikes in round NUMBER: every kind comes up before any comes up again.  Reproducible from SEED and NUMBER."""
	out = []
	for i in range(number * size, (number + 1) * size):
		cycle = list(names)
		random.Random("%s/cycle/%d" % (seed, i // len(names))).shuffle(cycle)
		out.append(cycle[i % len(names)])
	return sorted(out, key=lambda n: -KINDS[n].early)


def strike_all(field, seed, number, names, seconds):
	"""One round of faults: NAMES, spread over SECONDS.  A fault that finds no worker to hit is tried again at the end."""
	began, again = time.monotonic(), []
	for i, name in enumerate(names):
		rng = random.Random("%s/%d/%d/%s" % (seed, number, i, name))
		# the strike's own moment, out of the seed; or the round is over before
		field.load.over.wait(max(0, began + seconds * (i + rng.random() * 0.8) / len(names) - time.monotonic()))
		if not strike(field, name, rng):
			again.append((name, rng))
	field.missed = [name for name, rng in again if not place.wait_for(6, lambda: strike(field, name, rng), 0.5)]
	if not place.wait_for(40, lambda: all(condition() for condition in field.awaited), 0.5):
		field.load.note("not every fault came to its effect")
	field.load.over.wait(2)  # the last one has its time to hurt, as the others had


def strike(field, name, rng):
	rows = KINDS[name](field, rng)
	if rows is None:
		return False
	field.struck(name, rows)
	return True
