# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults where the machine gives no process, or no thread: the Nth that is asked for, or all for a while."""
import random

import place
from faults import kind


MOST = 40  # processes of a worker, as they are started while it is young; it makes more as it goes on


@kind("fork-fail")
def fork_fail(field, rng):
	"""A worker more, which is refused the Nth process, or that one and some after it; its keeper too, as each counts by itself.
	Small numbers are as likely as large."""
	load = field.load
	file = load.dir / ("refused-%d" % rng.randrange(10 ** 9))
	file.touch()
	n = int(MOST ** rng.random())
	environment = dict(load.environment, FAULT_SLOT="f", LD_PRELOAD=str(field.campaign.root / "forks.so"), FAULT_FIRED=str(file),
			   FAULT_FORK=rng.choice(("%d" % n, "%d-%d" % (n, n + rng.randint(1, 30)))),
			   FAULT_FORK_ERRNO=str(rng.choice((11, 12))))
	command = load.worker_command(random.Random(rng.random()), rng.choice(load.stacks))
	process = load.popen(command, "fork-%d" % len(load.processes), env=environment)
	process.role, process.proxy, process.clock = "worker", None, None
	if not place.wait_for(6, lambda: file.stat().st_size > 0):
		return None
	return [r for r in field.sample.rows if r["pid"] in [process.pid] + place.children(process.pid)] or [dict(worker=0, open=0)]
