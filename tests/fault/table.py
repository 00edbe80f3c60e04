# SPDX-License-Identifier: BSD-2-Clause
"""The campaign's sums: kind, times struck, entries at risk, lost, doubled, overlaps; as a table and as JSON."""
import collections
import json

BAD = ("lost", "doubled", "overlap", "other")


class Table:
	"""Grows a round at a time."""

	def __init__(self, kinds):
		self.kinds = {name: collections.Counter() for name in kinds}
		self.rest, self.counts, self.rounds = collections.Counter(), collections.Counter(), 0

	def add(self, strikes, audit):
		"""A violation is put to the kinds that struck a worker which had the entry; to all of the round's, if none did."""
		self.rounds += 1
		self.counts.update(audit.counts)
		for s in strikes:
			self.kinds[s.kind]["struck"] += 1
			self.kinds[s.kind]["risk"] += s.risk
		for what, stack, entry, _ in audit.found:
			workers = audit.workers_of.get((stack, entry), set())
			blamed = {s.kind for s in strikes if workers & set(s.workers)}
			for name in blamed:
				self.kinds[name][what] += 1
			self.rest[what] += 1

	def never(self):
		return [name for name, row in self.kinds.items() if row["struck"] == 0]

	def good(self):
		return not any(self.rest[what] for what in BAD) and not self.never()

	def text(self):
		lines = ["%-18s %7s %16s %6s %8s %9s" % ("kind", "struck", "entries at risk", "lost", "doubled", "overlaps")]
		for name, row in self.kinds.items():
			lines.append("%-18s %7d %16d %6d %8d %9d" % (name, *(row[w] for w in ("struck", "risk", "lost", "doubled", "overlap"))))
		lines.append("%-18s %7d %16d %6d %8d %9d" % ("all", sum(r["struck"] for r in self.kinds.values()),
			     sum(r["risk"] for r in self.kinds.values()), self.rest["lost"], self.rest["doubled"], self.rest["overlap"]))
		lines += ["", "other violations: %d" % self.rest["other"]]
		lines.append(", ".join("%s: %d" % (name, n) for name, n in sorted(self.counts.items())))
		return "\n".join(lines)

	def json(self, **more):
		kinds = {name: {w: row[w] for w in ("struck", "risk") + BAD} for name, row in self.kinds.items()}
		total = {w: self.rest[w] for w in BAD}
		return json.dumps(dict(more, kinds=kinds, total=total, counts=dict(self.counts), rounds=self.rounds), indent=1)
