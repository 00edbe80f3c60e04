# SPDX-License-Identifier: BSD-2-Clause
"""
push: names a second, by `jobstack push -0 < file`, against the fastest way there is to get names into a table: LOAD DATA
INFILE of the same file by the server itself, into a bare table with one column and a key that counts up.  That one reads
the file without a client, in one transaction, without commits in between: it is the ceiling, not an equal.
"""
from table import Wanted

LOAD = ("CREATE TABLE names (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, datapath VARBINARY(4096) NOT NULL) ENGINE=InnoDB;"
	"LOAD DATA INFILE '%s' INTO TABLE names CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY '' LINES TERMINATED BY '\\0' (datapath)")


def measure(here, table):
	n = 1000000 if here.quick else 10000000
	what = "%d million names" % (n // 1000000)
	speed = table.row("push", what, "/s", "LOAD DATA INFILE", [Wanted("ratio", 0.8)])
	memory = table.row("push", "most memory resident, %s" % what, "MiB", "", [Wanted("ours", 32, most=True)])
	path = here.names(n)
	for _ in range(here.runs):
		cnf = here.database("push")
		here.settle()
		ran = here.push(cnf, "names", n)
		speed.ours.append(n / ran.seconds)
		memory.ours.append(ran.usage.ru_maxrss / 1024)
		if len(speed.ours) == here.runs:
			here.note("push: of the last run's %.1f s the client itself computed for %.1f s" % (ran.seconds, ran.usage.ru_utime + ran.usage.ru_stime))
		here.drop("push")
		here.database("loaddata", init=False)
		here.settle()
		load = here.dir + "/load.sql"
		with open(load, "w") as f:
			f.write(LOAD % path)
		argv = [here.client, "--defaults-file=" + here.admin, "loaddata"]
		speed.theirs.append(n / here.run(argv, stdin=load).seconds)
		here.drop("loaddata")
