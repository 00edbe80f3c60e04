# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults that are Slurm's: its daemons die or freeze, its nodes go, its users and its scheduler end jobs."""
import signal

import place
from faults import kind

SLURM = ("slurm",)
SHORT, LONG = (1, 3, 6), 33  # seconds: LONG is enough for slurmctld to give a node up


def rows_on(field, node):
	return [v["row"] for v in field.workers(lambda v: v["env"].get("SLURMD_NODENAME") == node)]


def busy_node(field, rng):
	"""A node where our workers run, with their rows."""
	nodes = [(name, rows_on(field, name)) for name in field.campaign.slurm.nodes]
	nodes = [(name, rows) for name, rows in nodes if rows]
	return rng.choice(nodes) if nodes else (None, None)


def how_long(field, rng):
	return LONG if field.campaign.long and rng.random() < 0.25 else rng.choice(SHORT)


def daemon_back(field, name):
	slurm = field.campaign.slurm

	def back():
		if not slurm.slurmd(name):
			field.campaign.labs.bash("slurmd", slurm.dir, slurm.word(slurm.nodes[name]))

	return back


@kind("slurmd-kill", early=1, needs=SLURM)
def slurmd_kill(field, rng):
	name, rows = busy_node(field, rng)
	pid = field.campaign.slurm.slurmd(name) if name else 0
	if not pid or not place.kill(pid):
		return None
	field.later(how_long(field, rng), daemon_back(field, name))
	return rows


@kind("slurmd-stop", early=1, needs=SLURM)
def slurmd_stop(field, rng):
	name, rows = busy_node(field, rng)
	pid = field.campaign.slurm.slurmd(name) if name else 0
	if not pid:
		return None
	field.freeze(pid, how_long(field, rng))
	return rows


def stepd_of(field, rng):
	"""The slurmstepd above one of our workers, with its row."""
	target = field.choose(rng, lambda v: v["job"])
	pid = target["pid"] if target else 0
	while pid > 1:
		if place.comm(pid) == "slurmstepd":
			return pid, [target["row"]]
		fields = place.stat_of(pid)
		pid = int(fields[1]) if fields else 0
	return 0, None


@kind("slurmstepd-kill", needs=SLURM)
def slurmstepd_kill(field, rng):
	pid, rows = stepd_of(field, rng)
	return rows if pid and place.kill(pid) else None


@kind("slurmstepd-stop", needs=SLURM)
def slurmstepd_stop(field, rng):
	pid, rows = stepd_of(field, rng)
	if not pid:
		return None
	field.freeze(pid, rng.choice(SHORT))
	return rows


def slurm_rows(field):
	return [v["row"] for v in field.workers(lambda v: v["job"])]


@kind("slurmctld-kill", needs=SLURM)
def slurmctld_kill(field, rng):
	pids, rows = place.named("slurmctld"), slurm_rows(field)
	if not pids or not rows or not place.kill(pids[0]):
		return None

	def back():
		if not place.named("slurmctld"):
			field.campaign.labs.bash("slurmctld", field.campaign.slurm.dir)

	field.later(rng.choice(SHORT), back)
	return rows


@kind("slurmctld-stop", needs=SLURM)
def slurmctld_stop(field, rng):
	pids, rows = place.named("slurmctld"), slurm_rows(field)
	if not pids or not rows:
		return None
	field.freeze(pids[0], rng.choice(SHORT))
	return rows


@kind("slurm-node-cut", early=1, needs=SLURM)
def slurm_node_cut(field, rng):
	"""The cable of a compute node: slurmd and the workers on it, all at once."""
	name, rows = busy_node(field, rng)
	if not name:
		return None
	node = field.campaign.slurm.nodes[name]
	node.cut()
	field.later(how_long(field, rng), node.mend)
	return rows


def job_of(field, rng):
	jobs = {}
	for target in field.workers(lambda v: v["job"]):
		jobs.setdefault(target["job"], []).append(target["row"])
	return rng.choice(sorted(jobs.items())) if jobs else (None, None)


def to_job(name, *command):
	@kind(name, needs=SLURM)
	def strike(field, rng):
		job, rows = job_of(field, rng)
		if job is None or field.campaign.slurm.ask(*[w.replace("JOB", job) for w in command]) is None:
			return None
		return rows

	return strike


to_job("scancel", "scancel", "JOB")
to_job("scancel-kill", "scancel", "--full", "--signal=KILL", "JOB")
to_job("job-requeue", "scontrol", "requeue", "JOB")


@kind("walltime", early=2, needs=SLURM)
def walltime(field, rng):
	"""The job's time is up at once; Slurm looks at that every half a minute."""
	slurm = field.campaign.slurm
	job, rows = job_of(field, rng)
	if job is None or slurm.ask("scontrol", "update", "JobId=" + job, "EndTime=now") is None:
		return None

	def over():
		running = slurm.running()
		return running is not None and all(number != job for number, _ in running)

	field.awaited.append(over)
	return rows


@kind("node-down", needs=SLURM)
def node_down(field, rng):
	"""An operator says so; its jobs end with NODE_FAIL, or are requeued."""
	slurm = field.campaign.slurm
	name, rows = busy_node(field, rng)
	if not name or slurm.ask("scontrol", "update", "NodeName=" + name, "State=DOWN", "Reason=fault") is None:
		return None
	field.later(rng.choice(SHORT), lambda: slurm.ask("scontrol", "update", "NodeName=" + name, "State=RESUME"))
	return rows
