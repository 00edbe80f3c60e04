# SPDX-License-Identifier: BSD-2-Clause
"""
The table of figures: what was measured on both sides, in runs that took turns, as medians with their spread; the ratio of
the medians; what is wanted of it; and whether that was reached.
"""
import json
import math
import statistics

OK, SHORT, CONTEXT, MISSING = "ok", "SHORT", "context", "NOT MEASURED"


def number(x):
	"""Three digits that matter."""
	if x is None:
		return "-"
	if x == math.inf:
		return "inf"
	if abs(x) >= 1000:
		return "{:,.0f}".format(x)
	return ("%.0f" if abs(x) >= 100 else "%.1f" if abs(x) >= 10 else "%.2f" if abs(x) >= 0.1 or x == 0 else "%.4f") % x


def span(values):
	if not values:
		return "-"
	text = number(statistics.median(values))
	return text if len(values) == 1 else "%s (%s-%s)" % (text, number(min(values)), number(max(values)))


def markdown(head, rows):
	"""A table as docs/PERFORMANCE.md has them."""
	return "\n".join("| %s |" % " | ".join(cells) for cells in [head, ["---"] * len(head), *rows])


class Wanted:
	"""OURS or the RATIO is to be at least (or at MOST) a value."""

	def __init__(self, of, value, most=False):
		self.of, self.value, self.most = of, value, most

	def text(self):
		return "%s%s %s" % ("ratio " if self.of == "ratio" else "", "<=" if self.most else ">=", number(self.value))

	def holds(self, row):
		value = row.ratio() if self.of == "ratio" else row.median(row.ours)
		if value is None:
			return None
		return value <= self.value if self.most else value >= self.value


class Row:
	def __init__(self, section, name, unit, rival="", wanted=(), inverse=False, paired=False):
		"""INVERSE: the ratio is theirs by ours (where the figures are times, and it is to tell how much faster we are).
		PAIRED: it is the median of the pairs' ratios, as both runs of a pair met the same state of the machine."""
		self.section, self.name, self.unit, self.rival, self.wanted, self.inverse = section, name, unit, rival, list(wanted), inverse
		self.ours, self.theirs, self.missing, self.paired = [], [], "", paired

	@staticmethod
	def median(values):
		return statistics.median(values) if values else None

	def ratio(self):
		if self.paired and len(self.ours) == len(self.theirs) > 0:
			return statistics.median(a / b for a, b in zip(self.ours, self.theirs))
		a, b = self.median(self.ours), self.median(self.theirs)
		if self.inverse:
			a, b = b, a
		return None if a is None or b is None or (a == 0 and b == 0) else math.inf if b == 0 else a / b

	def verdict(self):
		if self.missing:
			return MISSING
		held = [w.holds(self) for w in self.wanted]
		if not held:
			return CONTEXT if self.ours or self.theirs else MISSING
		return MISSING if None in held else OK if all(held) else SHORT

	def as_json(self):
		return {"section": self.section, "figure": self.name, "unit": self.unit, "rival": self.rival, "ours": self.ours,
			"theirs": self.theirs, "ours_median": self.median(self.ours), "theirs_median": self.median(self.theirs),
			"ratio": None if self.ratio() == math.inf else self.ratio(), "ratio_is": "theirs/ours" if self.inverse else "ours/theirs",
			"wanted": [w.text() for w in self.wanted], "verdict": self.verdict(), "missing": self.missing}


class Table:
	def __init__(self):
		self.rows = []

	def row(self, *args, **more):
		self.rows.append(Row(*args, **more))
		return self.rows[-1]

	def counts(self):
		verdicts = [r.verdict() for r in self.rows]
		return {v: verdicts.count(v) for v in (OK, SHORT, MISSING, CONTEXT)}

	def text(self):
		cells = [("figure", "unit", "ours", "theirs", "against", "ratio", "wanted", "result")]
		for r in self.rows:
			cells.append(("%s: %s" % (r.section, r.name), r.unit, span(r.ours), span(r.theirs), r.rival, number(r.ratio()),
				      ", ".join(w.text() for w in r.wanted) or "-", r.verdict()))
		widths = [max(len(c[i]) for c in cells) for i in range(len(cells[0]))]
		lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
		lines.insert(1, "  ".join("-" * w for w in widths))
		lines += ["not measured: %s: %s: %s" % (r.section, r.name, r.missing) for r in self.rows if r.missing]
		return "\n".join(lines)

	def json(self, **more):
		return json.dumps(dict(more, rows=[r.as_json() for r in self.rows], counts=self.counts()), indent=1) + "\n"
