# SPDX-License-Identifier: BSD-2-Clause
"""
What came of it: the tables against what the commands themselves saw, what the scripts were told, and what was pushed.
Asks the tables in its own words; `jobstack check` is asked as well.  Whatever it can't explain is a violation:
(class, stack, entry, words), where the class is lost, doubled, overlap or other.
"""
import collections
import json

DONE, FAILED, LOST, INTERRUPTED = range(4)
ORPHAN_NS = 2_000_000_000  # what a command left behind may go on for so long after the command's end
AWAKE_NS = 2_000_000_000  # a machine that goes on after a suspend has its commands ended within so long, on a busy host
FROZEN_NS = 14_000_000_000  # and for so much longer where the worker was frozen: it must have ended before the next run

Run = collections.namedtuple("Run", "stack entry attempt worker pid start last end code")


class Audit:
	"""One round's."""

	def __init__(self, load, sample, strikes=()):
		self.load, self.sample, self.found = load, sample, []
		self.frozen = {w for s in strikes if s.kind in ("worker-stop", "keeper-stop", "clock-pause") for w in s.workers}
		self.nobody_left = {w for s in strikes if s.kind in ("both-kill", "both-kill-su") for w in s.workers}
		self.counts, self.pruned = collections.Counter(), set()
		self.workers_of = collections.defaultdict(set)  # (stack, entry): the workers that had it

	def violation(self, what, stack, entry, words):
		self.found.append((what, stack, entry, words))

	def rows(self, sql):
		rows = self.load.campaign.db.query(sql, self.load.name, timeout=300)
		if rows is None:
			raise RuntimeError("the audit can't ask the database")
		return rows

	# ---------------------------------------------------------------------------------------------------------- reading

	def read(self):
		stacks = {int(r[0]): r[1] for r in self.rows("SELECT stack_id,name FROM stack")}
		entries = self.rows("SELECT stack_id,entry_id,datapath FROM entry")
		self.entries = {(stacks[int(r[0])], int(r[1])): r[2] for r in entries}
		self.in_slurm = {int(r[0]) for r in self.rows("SELECT worker_id FROM worker WHERE JSON_VALUE(identity,'$.job') IS NOT NULL")}
		self.kinds = {int(r[0]): r[1] for r in self.rows("SELECT worker_id,kind FROM worker")}
		for worker, (script, in_slurm) in self.sample.kinds.items():  # a prune by a clock that had jumped took its row
			if worker not in self.kinds:
				self.kinds[worker] = "1" if script else "0"
				self.in_slurm |= {worker} if in_slurm else set()
		self.dead = {(stacks[int(r[0])], int(r[1])) for r in self.rows("SELECT stack_id,entry_id FROM set_aside")}
		self.attempts = {}
		for r in self.rows("SELECT stack_id,entry_id,attempt,worker_id,outcome,final,COALESCE(exit_code,-1),"
				   "COALESCE(signo,0),COALESCE(reason,'') FROM attempt"):
			key = (stacks[int(r[0])], int(r[1]), int(r[2]))
			self.attempts[key] = dict(worker=int(r[3]), outcome=int(r[4]), final=int(r[5]), code=int(r[6]),
						  signal=int(r[7]), reason=r[8])
			self.workers_of[key[:2]].add(int(r[3]))
		self.lost_seen = {(stacks[s], e, a) for s, e, a in self.sample.lost}
		self.records = [json.loads(line) for line in open(self.load.records)]
		self.pauses = collections.defaultdict(list)
		for r in self.records:
			if r["what"] == "pause":
				self.pauses[r["worker"]].append(r)
			if r["what"] == "close":
				self.kinds.setdefault(r["worker"], "1")
		for stack in stacks.values():
			self.read_archive(stack)
		self.read_witness()

	def read_archive(self, stack):
		"""What was pruned, from the archive: the attempts of entries that are not there any more.  A line may come twice."""
		path, last = self.load.dir / ("archive." + stack), {}
		for line in open(path) if path.exists() else []:
			a = json.loads(line)
			key = stack, a["entry"]
			if key in self.entries and key not in self.pruned:
				continue  # it was requeued in that moment, or the prune was killed
			self.pruned.add(key)
			self.entries[key] = a["datapath"]
			self.attempts[key + (a["attempt"],)] = dict(
				worker=a["worker"], outcome=("done", "failed", "lost", "interrupted").index(a["outcome"]), final=0,
				code=-1 if a["exit_code"] is None else a["exit_code"], signal=a["signal"], reason=a["reason"] or "")
			self.workers_of[key].add(a["worker"])
			last[key] = max(last.get(key, 0), a["attempt"])
		for key, attempt in last.items():
			self.attempts[key + (attempt,)]["final"] = 1

	def read_witness(self):
		"""The runs, from the lines; and the lines that tell of trouble."""
		open_runs, self.runs, self.overlaps, self.children, self.left = {}, [], [], collections.defaultdict(list), {}
		for line in open(self.load.witness):
			stack, entry, attempt, worker, pid, ns, what, code = line.split()
			key, ns = (stack, int(entry), int(attempt), int(worker), int(pid)), int(ns)
			if what == "start":
				if key in open_runs:
					self.runs.append(Run(*key, *open_runs.pop(key)))
				open_runs[key] = [ns, ns, None, None]
			elif what == "overlap":
				self.overlaps.append((key, ns))
			elif what == "child":
				self.children[key[:4]].append(ns)
				self.left[key[:4]] = Run(*key, start=self.children[key[:4]][0], last=ns, end=None, code=None)
			elif key in open_runs:
				open_runs[key][1] = ns
				if what == "end":
					open_runs[key][2:] = [ns, int(code)]
					self.runs.append(Run(*key, *open_runs.pop(key)))
			else:
				self.violation("other", stack, int(entry), "the witness says %s without a start: %s" % (what, line.strip()))
		self.runs += [Run(*key, *run) for key, run in open_runs.items()]
		self.by_entry = collections.defaultdict(list)
		for run in sorted(self.runs, key=lambda r: r.start):
			self.by_entry[run.stack, run.entry].append(run)
			self.workers_of[run.stack, run.entry].add(run.worker)

	def by_script(self, worker):
		return self.kinds.get(worker) == "1"

	def left_behind(self, stack, entry, ns):
		"""Was the entry in no other hands at NS than those of a process that a command left behind in a session of its own,
		whose worker and keeper were killed together (as KILL to all of a Slurm step does)?  Nobody is left then to find it,
		and another host can't: docs/RELIABILITY.md says so.  Of the stack whose workers are all on this host, an observer has to
		see it, and this is no excuse."""
		if stack == self.load.near.name:
			return False
		before = [r for r in self.by_entry[stack, entry] if r.start < ns]
		return bool(before) and self.entries.get((stack, entry), "").split("/")[3:4] == ["leave"] and all(
			(r.worker in self.nobody_left or r.worker in self.in_slurm) and r.last < ns for r in before)

	def stood_still(self, run, ns):
		"""Is this a run on a machine that stood still for longer than its lease, and may another run have begun at NS?
		docs/RELIABILITY.md says so: if the machine was suspended, until somebody there gets a processor; if a virtual
		machine was paused, and its clock set right, until the database has answered, or the lease is over by the clock that
		stood still.  In both cases nothing of the worker's begins after the pause.  If no clock tells of it, that may
		happen, too."""
		for p in self.pauses[run.worker]:
			until = p["go_on"] + AWAKE_NS + (0 if p["how"] == "suspended" else p["lease"] * 1e9)
			known = run.pid in p["pids"] or (p["how"] == "unnoticed" and run.start > p["stop"])
			if known and p["stop"] < ns <= until and run.last <= until:
				return True
		return False

	# ------------------------------------------------------------------------------------------------------- the questions

	def pushed(self):
		"""Every name is there, once; and what was moved is where it went."""
		elsewhere = self.load.elsewhere
		elsewhere.names = [r[0] for r in self.rows("SELECT datapath FROM set_aside JOIN entry USING(stack_id,entry_id) WHERE to_stack IS NOT NULL")]
		for stack in self.load.stacks + [elsewhere]:
			there = collections.Counter(name for (s, _), name in self.entries.items() if s == stack.name)
			wanted = set(stack.names) | set(stack.extra)
			for name in wanted - set(there):
				self.violation("lost", stack.name, 0, "was %s and is not there: %s" % ("moved" if stack is elsewhere else "pushed", name))
			for name, n in there.items():
				if n > 1:
					self.violation("doubled", stack.name, 0, "is there %d times: %s" % (n, name))
				if name not in wanted:
					self.violation("other", stack.name, 0, "nobody pushed " + name)
			self.counts["pushed"] += len(wanted)

	def outcomes(self):
		"""Every entry has come to one end; its attempts are numbered without a gap; failures are its own."""
		of = collections.defaultdict(list)
		for (stack, entry, attempt), row in sorted(self.attempts.items()):
			of[stack, entry].append((attempt, row))
		for key, name in self.entries.items():
			rows = of[key]
			finals = sum(r["final"] for _, r in rows) + (key in self.dead)
			if finals != 1:
				self.violation("lost" if finals == 0 else "doubled", *key, "has %d ends: %s" % (finals, rows))
			if [a for a, _ in rows] != list(range(1, len(rows) + 1)):
				self.violation("other", *key, "its attempts: %s" % [a for a, _ in rows])
			what = name.split("/")[3]
			for attempt, row in rows:
				self.counts[("done", "failed", "lost", "interrupted")[row["outcome"]]] += 1
				if row["outcome"] == FAILED and not (what == "fail" or (what == "fail1" and attempt == 1)):
					self.violation("other", *key, "attempt %d was counted as failed for a failure that is not its own: %s" % (attempt, row))
				if row["final"] and row["outcome"] != DONE:
					self.violation("other", *key, "attempt %d is final and not done: %s" % (attempt, row))
			self.counts["dead"] += key in self.dead

	def evidence(self):
		"""An outcome is what the witness saw, and who has started has an outcome."""
		runs = collections.defaultdict(list)
		for run in self.runs:
			runs[run.stack, run.entry, run.attempt].append(run)
		for key, row in self.attempts.items():
			mine = [r for r in runs[key] if r.worker == row["worker"]]
			if len(mine) > 1 and not self.by_script(row["worker"]):
				self.violation("doubled", *key[:2], "attempt %d was run %d times" % (key[2], len(mine)))
			wanted = {DONE: 0, FAILED: 3}.get(row["outcome"], 75 if row["code"] == 75 else None)
			if wanted is not None and not any(r.code == wanted for r in mine):
				self.violation("other", *key[:2], "attempt %d is %s, but the command did not say so: %s" % (key[2], row, mine))
			if row["outcome"] == INTERRUPTED and row["code"] == 99:
				self.violation("other", *key[:2], "the witness could not speak")
		for key, mine in runs.items():
			row = self.attempts.get(key)
			if row is None:
				self.violation("other", *key[:2], "attempt %d ran and left no outcome: %s" % (key[2], mine))
			elif any(r.worker != row["worker"] for r in mine):
				self.violation("doubled", *key[:2], "attempt %d was run by another worker: %s: %s" % (key[2], row, mine))
			elif row["outcome"] == LOST and any(r.code == 0 for r in mine):
				self.counts["ended well but lost"] += 1

	def two_hands(self):
		"""No two runs of one entry at a time.  Nobody can stop a script that outlives its lease: those are counted apart."""
		seen = set()
		for (stack, entry, attempt, worker, pid), ns in self.overlaps:
			seen.add((stack, entry))
			if self.left_behind(stack, entry, ns):
				self.counts["left behind where nobody was left"] += 1
				continue
			runs = self.by_entry[stack, entry]
			held = [r for r in runs if (r.worker, r.pid) == (worker, pid) or (r.start < ns and (r.end is None or r.end > ns))]
			held += [self.left[r[:4]] for r in runs if r[:4] in self.left and r.start < ns]
			if any(self.stood_still(r, ns) for r in held):
				self.counts["overlaps of paused machines"] += 1
				continue
			self.violation("overlap", stack, entry, "attempt %d, worker %d, process %d began at %d while another run held "
				       "the entry: %s" % (attempt, worker, pid, ns, self.by_entry[stack, entry]))
		for key, runs in self.by_entry.items():
			for one, two in zip(runs, runs[1:]):
				if two.start >= one.last:
					continue
				if self.by_script(one.worker) or self.by_script(two.worker):
					self.counts["overlaps of scripts"] += 1
				elif self.stood_still(one, two.start) or self.stood_still(two, two.start):
					self.counts["overlaps of paused machines"] += key not in seen
				elif key not in seen:
					self.violation("overlap", *key, "by the times: %s and %s" % (one, two))
		ends = {r[:4]: r for r in self.runs if r.end}
		for key, times in self.children.items():
			run = ends.get(key)
			later = [r for r in self.by_entry[key[:2]] if run and run.start < r.start < max(times)]
			scripts = self.by_script(key[3]) or all(self.by_script(r.worker) and r.attempt < run.attempt for r in later)
			if later and (scripts or self.left_behind(*key[:2], later[0].start) or self.stood_still(self.left[key], later[0].start)):
				self.counts["overlaps of scripts"] += scripts
				continue
			if later:
				self.violation("overlap", *key[:2], "attempt %d: what it left behind was alive in the next run" % key[2])
			elif self.kept(key[3]) and run and max(times) > run.end + ORPHAN_NS + FROZEN_NS * (key[3] in self.frozen):
				self.violation("other", *key[:2], "attempt %d: what it left behind went on for %.1f s after its end" %
					       (key[2], (max(times) - run.end) / 1e9))

	def kept(self, worker):
		"""Was there somebody to look for what a command of this worker left behind?"""
		return not (worker in self.in_slurm or worker in self.nobody_left or self.by_script(worker))

	def zombies(self):
		"""What was lost stays lost; a close that was said yes to counts, one that was said no to does not."""
		for key in self.lost_seen:
			if self.attempts.get(key, {"outcome": None})["outcome"] != LOST:
				self.violation("doubled", *key[:2], "attempt %d was lost, and is now %s" % (key[2], self.attempts.get(key)))
		for r in self.records:
			if r["what"] != "close":
				continue
			row = self.attempts.get((r["stack"], r["entry"], r["attempt"]))
			right = row and row["worker"] == r["worker"] and row["outcome"] == {0: DONE, 75: INTERRUPTED}.get(r["code"], FAILED)
			self.counts["closes by scripts"] += 1
			self.counts["late closes refused"] += r["status"] == 1
			if r["status"] == 0 and not right:
				self.violation("lost", r["stack"], r["entry"], "a close was accepted, but: %s, %s" % (r, row))
			if r["status"] == 1 and not (row and row["outcome"] == LOST):
				self.violation("other", r["stack"], r["entry"], "a close was refused, but: %s, %s" % (r, row))
			if r["status"] == 2 and (r["stack"], r["entry"]) in self.pruned:
				continue
			if r["status"] not in (0, 1):
				self.violation("other", r["stack"], r["entry"], "a close never came to an end: %s" % r)

	def requeues(self):
		"""Requeued by two people at once, an entry came back once: it was done at most once more often than requeued.  (If one of them
		was held up until it had been done again, it came back twice, rightly.)"""
		done = collections.Counter((s, e) for (s, e, _), r in self.attempts.items() if r["outcome"] == DONE)
		asked = collections.Counter()
		for r in self.records:
			if r["what"] == "requeue":
				again = [e for e in r["entries"] if any(x.start > r["began"] and x.end and x.end < r["ended"]
									for x in self.by_entry[r["stack"], e])]
				asked.update((r["stack"], e) for e in r["entries"] + again)
				if r["sure"] and r["got"] > len(r["entries"]) + len(again):
					self.violation("doubled", r["stack"], 0, "requeued more often than there were entries: %s" % r)
		for key, n in done.items():
			if n > 1 + asked[key]:
				self.violation("doubled", *key, "done %d times, requeued at most %d times" % (n, asked[key]))

	def ledger(self):
		"""pushed = outcomes, and nothing is anywhere else."""
		for r in self.rows("SELECT s.name,s.pushed,"
				   "s.done+(SELECT COALESCE(SUM(done),0) FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL),"
				   "s.dead+(SELECT COALESCE(SUM(dead),0) FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL),"
				   "s.moved,s.pruned,s.cancelled,(SELECT COUNT(*) FROM entry e WHERE e.stack_id=s.stack_id),"
				   "(SELECT COUNT(*) FROM attempt a WHERE a.stack_id=s.stack_id AND final=1),"
				   "(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=s.stack_id AND state=0),"
				   "(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=s.stack_id AND state=2),"
				   "(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=s.stack_id AND state=1),"
				   "(SELECT COALESCE(SUM(hi-lo+1),0) FROM span p WHERE p.stack_id=s.stack_id),"
				   "(SELECT COALESCE(SUM(open),0) FROM claim c WHERE c.stack_id=s.stack_id) FROM stack s"):
			name, pushed, done, dead, moved, pruned, cancelled, entries, finals, deads, gone, given_up, spans, claims = r[0], *map(int, r[1:])
			archived = sum(1 for key in self.pruned if key[0] == name)
			if not (pushed == entries + pruned == done + dead + moved + pruned + cancelled and
				(done, dead, moved, cancelled) == (finals, deads, gone, given_up) and
				pruned == archived and spans == claims == 0):
				self.violation("lost" if pushed > done + dead + moved + pruned + cancelled else "other", name, 0,
					       "the ledger: pushed %d, entries %d, done %d (%d), dead %d (%d), moved %d (%d), pruned %d (%d), "
					       "cancelled %d (%d), in spans %d, claimed %d" % (pushed, entries, done, finals, dead, deads, moved, gone, pruned, archived,
					       cancelled, given_up, spans, claims))
			self.counts["moved"] += moved
			self.counts["pruned"] += pruned

	def check(self):
		"""What the tool itself says."""
		status, out = self.load.tool("check")
		if status != 0:
			self.violation("other", self.load.name, 0, "jobstack check: status %d: %s" % (status, out.strip()))

	def people(self):
		"""What people who steered were told was right."""
		for r in self.records:
			if r["what"] == "wrong":
				self.violation("other", r["stack"], 0, r["words"])

	def run(self, drained):
		if not drained:
			self.violation("lost", self.load.name, 0, "the round did not come to its end: %s; running: %s" % (
				self.load.left(), [p.args for p in self.load.processes if p.poll() is None]))
		self.read()
		for question in (self.pushed, self.outcomes, self.evidence, self.two_hands, self.zombies, self.requeues, self.ledger,
				 self.people, self.check):
			question()
		self.counts["runs"] = len(self.runs)
		return self.found
