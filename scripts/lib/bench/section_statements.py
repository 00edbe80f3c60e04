# SPDX-License-Identifier: BSD-2-Clause
"""
statements: how many bytes a step writes to the binary log; and what a step costs MySQL, by its performance schema.
bench-ledger takes steps over 16 connections, one by one and in hundreds.  With --before the earlier build is beside it,
in turns, on the same server.  The ten statements that take most of the time, apart from waiting for row locks, are listed
below the table.  MariaDB gets most of a step as one block, which its performance schema does not take apart.
"""
import os
import re

from section_before import Build
from table import markdown, span

CONNECTIONS = 16
SECONDS = 5
BYTES = ("binary log per step", "bytes")
SCHEMA = ["performance-schema=ON", "performance-schema-digests-size=10000", "max-digest-length=4096", "performance-schema-max-digest-length=4096",
	  "performance-schema-consumer-events-statements-cpu=ON"]
DIGESTS = "performance_schema.events_statements_summary_by_digest"
OF_SCHEMA = (("statements per step", ""), ("time per step, without waiting for row locks", "us"), ("CPU per step", "us"))
COLUMNS = ["statement", "per step", "us each", "of these, waiting for locks", "CPU, us each", "rows examined"]
FORMATS = ("%.2f", "%.0f", "%.0f", "%.0f", "%.1f")
SHOWN = 10
TEXT_MAX = 110


def binlog_bytes(there):
	return sum(int(row[1]) for row in there.sql("SHOW BINARY LOGS"))


def take_steps(there, build, stack, k, schema):
	"""The figures per step, and (SCHEMA) the statements that took most of the time."""
	build.push(stack, 100000 if k == 1 else 1000000)
	there.settle()
	before = binlog_bytes(there)
	if schema:
		there.sql("TRUNCATE TABLE " + DIGESTS)
	rounds = build.ledger(stack, k, CONNECTIONS, SECONDS)["rounds"]
	steps = rounds + 2 * CONNECTIONS  # those by which the workers began, and those under way at the end
	written = (binlog_bytes(there) - before) / steps
	if not schema:
		return [written], []
	of_build = "FROM %s WHERE SCHEMA_NAME='%s'" % (DIGESTS, build.name)
	sums = there.sql("SELECT SUM(COUNT_STAR),SUM(SUM_TIMER_WAIT-SUM_LOCK_TIME)/1e6,SUM(SUM_CPU_TIME)/1e6 " + of_build)[0]
	top = there.sql("SELECT REPLACE(DIGEST_TEXT,'\n',' '),COUNT_STAR/%d,AVG_TIMER_WAIT/1e6,SUM_LOCK_TIME/COUNT_STAR/1e6,SUM_CPU_TIME/COUNT_STAR/1e6,"
			"SUM_ROWS_EXAMINED/COUNT_STAR %s ORDER BY SUM_TIMER_WAIT-SUM_LOCK_TIME DESC LIMIT %d" % (steps, of_build, SHOWN))
	return [written] + [float(value) / steps for value in sums], top


def shorten(text):
	"""A digest without quotes, most blanks, and what it reads into."""
	text = re.sub(r" INTO (@\?[ ,]*)+", " INTO ... ", text.replace("`", ""))
	text = re.sub(r" ?([(.=+]) ?", r"\1", re.sub(r" ([,)])", r"\1", text)).replace("|", "\\|")
	return "`%s`" % (text if len(text) <= TEXT_MAX else text[:TEXT_MAX - 4] + " ...")


def measure(here, table):
	earlier, schema = os.environ.get("JOBSTACK_BENCH_BEFORE"), not here.is_mariadb()
	figures = (BYTES, *OF_SCHEMA) if schema else (BYTES,)
	with here.server("statements", here.binlog_settings(True) + (SCHEMA if schema else [])) as there:
		builds = [Build(there, "now", os.path.dirname(here.which("jobstack")))] + ([Build(there, "earlier", earlier)] if earlier else [])
		for k in (1, 100):
			name = "one by one" if k == 1 else "in hundreds"
			rows = [table.row("statements", "%s: %s" % (name, what), unit, "the earlier build" if earlier else "") for what, unit in figures]
			for i in range(here.runs):
				for build in builds if i % 2 == 0 else builds[::-1]:
					values, build.top = take_steps(there, build, "k%d.%d" % (k, i), k, schema)
					for row, value in zip(rows, values):
						(row.ours if build is builds[0] else row.theirs).append(value)
			for build in builds if schema else []:
				here.note("%s, %s, in the last run:\n\n%s\n" % (name, build.name, markdown(COLUMNS, [
					[shorten(text)] + [f % float(v) for f, v in zip(FORMATS, values)] for text, *values in build.top])))
			here.say("   " + "; ".join("%s %s%s" % (row.name, span(row.ours), ", earlier " + span(row.theirs) if earlier else "") for row in rows))
