# SPDX-License-Identifier: BSD-2-Clause
"""
An audit that can't fail proves nothing: after a round without faults, every kind of breach is planted, each in an
entry of its own, in the tables, in what the commands saw, or in what scripts were told; and the audit has to name
each of them.
"""
import re

import audit

# breach: the class and the words that the audit has to use for the entry
EXPECTED = {
	"an entry without an end": ("lost", "has 0 ends"),
	"an entry with two ends": ("doubled", "has 2 ends"),
	"an attempt with a wrong number": ("other", "its attempts"),
	"a failure that is not its own": ("other", "not its own"),
	"done, but nobody saw it": ("other", "did not say so"),
	"one attempt, run twice": ("doubled", "was run 2 times"),
	"one attempt, run by two workers": ("doubled", "by another worker"),
	"a run without an outcome": ("other", "left no outcome"),
	"a lock that was held": ("overlap", "while another run held"),
	"two runs at a time": ("overlap", "by the times"),
	"a paused machine that goes on for too long": ("overlap", "by the times"),
	"a start on a machine that was suspended": ("overlap", "by the times"),
	"a child that goes on": ("other", "went on for"),
	"a child in the next run": ("overlap", "alive in the next run"),
	"lost, and then done": ("doubled", "was lost, and is now"),
	"a close that was accepted in vain": ("lost", "was accepted, but"),
	"a close that was refused in vain": ("other", "was refused, but"),
	"done twice": ("doubled", "done 2 times"),
}
OF_ALL = {
	"a name that is not there": ("lost", "was pushed and is not there"),
	"a name that is there twice": ("doubled", "is there 2 times"),
	"a ledger that does not balance": ("other", "the ledger"),
	"moved to nowhere": ("lost", "was moved and is not there"),
	"pruned, and in no archive": ("other", "pruned 1 (0)"),
	"a drop that left something": ("other", "planted words"),
	"a round that does not end": ("lost", "did not come to its end"),
}


class Plant:
	"""One entry, done at its first attempt by a worker; and ways to lie about it."""

	def __init__(self, load, sample, row):
		self.load, self.sample = load, sample
		self.stack_id, self.stack, self.entry, self.worker = int(row[0]), row[1], int(row[2]), int(row[3])
		self.where = "stack_id=%d AND entry_id=%d" % (self.stack_id, self.entry)
		lines = [line.split() for line in open(load.witness)]
		self.run = [l for l in lines if l[0] == self.stack and l[1] == row[2]]
		self.began, self.ended = int(self.run[0][5]), int(self.run[-1][5])

	def sql(self, text):
		if self.load.campaign.db.query(text, self.load.name) is None:
			raise RuntimeError("can't plant: " + text)

	def witness(self, what, ns, attempt=1, worker=None, code=0):
		with open(self.load.witness, "a") as file:
			print(self.stack, self.entry, attempt, worker or self.worker, 999999, ns, what, code, file=file)

	def close(self, attempt, status):
		self.load.record(what="close", stack=self.stack, entry=self.entry, attempt=attempt, worker=self.worker, code=0,
				 status=status, late=True)

	def attempt_more(self, attempt, outcome, final):
		self.sql("INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,ended) "
			 "VALUES(%d,%d,%d,%d,%d,%d,0,NOW(6))" % (self.stack_id, self.entry, attempt, self.worker, outcome, final))

	def plant(self, what):
		last = self.ended + 10 ** 12
		if what == "an entry without an end":
			self.sql("UPDATE attempt SET final=0 WHERE " + self.where)
		elif what == "an entry with two ends":
			self.sql("INSERT INTO set_aside(stack_id,entry_id,attempt,`rank`,reason) VALUES(%d,%d,1,0,'planted')" % (self.stack_id, self.entry))
		elif what == "an attempt with a wrong number":
			self.sql("UPDATE attempt SET attempt=2 WHERE " + self.where)
		elif what == "a failure that is not its own":
			self.sql("UPDATE attempt SET outcome=1,exit_code=3 WHERE " + self.where)
		elif what == "done, but nobody saw it":
			lines = [l for l in open(self.load.witness) if l.split()[:2] != [self.stack, str(self.entry)]]
			with open(self.load.witness, "w") as file:
				file.writelines(lines)
		elif what in ("one attempt, run twice", "one attempt, run by two workers"):
			worker = self.worker if what.endswith("twice") else 999999
			self.witness("start", last, worker=worker)
			self.witness("end", last + 1, worker=worker)
		elif what == "a run without an outcome":
			self.witness("start", last, attempt=9)
		elif what == "a lock that was held":
			self.witness("overlap", last)
		elif what == "two runs at a time":
			self.witness("start", self.began + (self.ended - self.began) // 2, attempt=2)
			self.witness("end", last, attempt=2)
		elif what in ("a paused machine that goes on for too long", "a start on a machine that was suspended"):
			late = what.endswith("long")
			self.load.record(what="pause", worker=self.worker, lease=0, how="paused" if late else "suspended", stop=self.began,
					 pids=[int(self.run[0][4])] if late else [], go_on=self.ended - audit.AWAKE_NS - 1 if late else last)
			self.witness("start", self.began + (self.ended - self.began) // 2, attempt=2)
			self.witness("end", last, attempt=2)
		elif what == "a child that goes on":
			self.witness("child", self.ended + 3 * 10 ** 9)
		elif what == "a child in the next run":
			self.witness("start", last, attempt=2)
			self.witness("end", last + 2, attempt=2)
			self.witness("child", last + 1)
		elif what == "lost, and then done":
			self.sample.lost.add((self.stack_id, self.entry, 1))
		elif what == "a close that was accepted in vain":
			self.attempt_more(2, 2, 0)
			self.close(2, 0)
		elif what == "a close that was refused in vain":
			self.close(1, 1)
		elif what == "done twice":
			self.sql("UPDATE attempt SET final=0 WHERE " + self.where)
			self.attempt_more(2, 0, 1)


def plant_for_all(plants, what):
	"""Those that concern a stack and not an entry."""
	p = plants[0]
	if what == "a name that is not there":
		p.load.stacks[0].extra.append("/e/planted/ok/1")
	elif what == "a name that is there twice":
		p.sql("INSERT INTO entry SELECT stack_id,999999,datapath FROM entry WHERE " + p.where)
	elif what == "a ledger that does not balance":
		p.sql("UPDATE stack SET done=done+1")
	elif what == "moved to nowhere":
		p.sql("INSERT INTO set_aside(stack_id,entry_id,attempt,`rank`,reason,state,to_stack,to_entry) VALUES(%d,%d,1,0,'planted',2,999999,1)" %
		      (p.stack_id, p.entry))
	elif what == "pruned, and in no archive":
		p.sql("UPDATE stack SET pruned=pruned+1")
	elif what == "a drop that left something":
		p.load.record(what="wrong", stack="planted", words="planted words")


def run(load, sample):
	"""The breaches that were not noticed; and one more if something was found where nothing was planted."""
	before = audit.Audit(load, sample).run(True)
	if before:
		return ["found without a breach: %s" % (before[:3],)]
	rows = load.campaign.db.query(
		"SELECT a.stack_id,s.name,a.entry_id,a.worker_id FROM attempt a, stack s, worker w, entry e WHERE s.stack_id=a.stack_id "
		"AND w.worker_id=a.worker_id AND e.stack_id=a.stack_id AND e.entry_id=a.entry_id AND attempt=1 AND final=1 AND kind=0 "
		"AND datapath LIKE '/e/%%/ok/___' LIMIT %d" % (len(EXPECTED) + 1), load.name)
	if len(rows) <= len(EXPECTED):
		return ["only %d entries to plant in" % len(rows)]
	plants = [Plant(load, sample, row) for row in rows]
	for plant, what in zip(plants[1:], EXPECTED):
		plant.plant(what)
	for what in OF_ALL:
		plant_for_all(plants, what)
	found = audit.Audit(load, sample).run(False)
	missed = [what for plant, (what, (kind, words)) in zip(plants[1:], EXPECTED.items()) if not any(
		f[0] == kind and f[1] == plant.stack and f[2] == plant.entry and re.search(words, f[3]) for f in found)]
	return missed + [what for what, (kind, words) in OF_ALL.items()
			 if not any(f[0] == kind and words in f[3] for f in found)]
