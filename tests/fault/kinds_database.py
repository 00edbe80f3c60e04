# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of faults that strike the server, its clock, its disk, and the way there."""
import signal
import threading

import place
from faults import kind

SERVER = ("server",)


@kind("mysqld-kill", needs=SERVER)
def mysqld_kill(field, rng):
	db = field.campaign.db
	rows = field.all_rows()
	if not db.kill():
		return None
	field.later(rng.choice((0, 0.5, 2, 4)), db.start)
	return rows


@kind("mysqld-stop", needs=SERVER)
def mysqld_stop(field, rng):
	db = field.campaign.db
	rows = field.all_rows()
	if not db.alive():
		return None
	field.freeze(db.pid(), rng.choice((0.5, 2, 4, 7)))
	return rows


def ports_of(pid, server_port):
	"""Local ports of this process's connections to the server, as the server sees them."""
	inodes = set()
	try:
		for fd in place.os.listdir("/proc/%d/fd" % pid):
			target = place.os.readlink("/proc/%d/fd/%s" % (pid, fd))
			if target.startswith("socket:["):
				inodes.add(target[8:-1])
	except OSError:
		return []
	ports = []
	for line in place.slurp("/proc/%d/net/tcp" % pid).decode().splitlines()[1:]:
		f = line.split()
		if f[9] in inodes and int(f[2].split(":")[1], 16) == server_port:
			ports.append(int(f[1].split(":")[1], 16))
	return ports


@kind("connection-kill")
def connection_kill(field, rng):
	"""KILL CONNECTION: of one worker's session, or of several people's."""
	db = field.campaign.db
	sessions = db.query("SELECT id,host FROM information_schema.processlist WHERE user='%s'" % field.load.name, timeout=2)
	if not sessions:
		return None
	of_port = {int(host.rpartition(":")[2]): int(number) for number, host in sessions if ":" in host}
	struck, ids = [], []
	for target in field.workers():
		for port in ports_of(target["pid"], db.port):
			if port in of_port and rng.random() < 0.5:
				ids.append(of_port[port])
				struck.append(target["row"])
	if not ids:
		ids = [int(rng.choice(sessions)[0])]
	for number in ids:  # one may be gone before we come to it
		try:
			db.query("KILL CONNECTION %d" % number, timeout=2)
		except RuntimeError:
			pass
	return struck


@kind("query-kill")
def query_kill(field, rng):
	"""KILL QUERY: of all sessions, five times a second.  MariaDB skips statements then, without an error."""
	db, rows, killed = field.campaign.db, field.all_rows(), 0
	for _ in range(rng.randrange(10, 20)):
		sessions = db.query("SELECT id FROM information_schema.processlist WHERE user='%s' AND command<>'Sleep'" % field.load.name, timeout=2)
		rng.shuffle(sessions or [])
		try:  # one may be gone before we come to it, with which the client ends
			killed += sessions is not None and db.query(";".join("KILL QUERY " + number for number, in sessions), timeout=2) is not None
		except RuntimeError:
			pass
		field.load.over.wait(0.2)
	return rows if killed else None


@kind("autoinc-lock", needs=SERVER)
def autoinc_lock(field, rng):
	"""Somebody holds the lock of the numbers of workers for longer than a lock wait, while workers start."""
	insert = ("START TRANSACTION;INSERT INTO worker(token,stack_id,kind,started,beat,lease_us,slots,node) SELECT UNHEX(MD5(RAND())),0,0,"
		  "UTC_TIMESTAMP(6),UTC_TIMESTAMP(6),1,1,'h' FROM (SELECT 0 n UNION ALL SELECT %d) t WHERE SLEEP(n)=0;ROLLBACK")
	def hold():
		try:
			field.campaign.db.query(insert % seconds, field.load.name)
		except RuntimeError:  # another fault hit it
			pass

	seconds = rng.randrange(4, 8)
	threading.Thread(target=hold, daemon=True).start()
	return field.all_rows()


def around_commit(mode):
	@kind("commit-" + mode)
	def strike(field, rng):
		"""Arms the way of one client to the server; its next COMMIT springs it."""
		clients = [(p.proxy, p) for p in field.load.processes if getattr(p, "proxy", None) and p.poll() is None]
		rng.shuffle(clients)
		hit = threading.Event()
		for proxy, process in clients[:4]:
			rows = [v["row"] for v in field.workers(lambda v: v["process"] is process)]
			proxy.arm(mode, rng.choice((0.5, 2, 4, 8)), hit.set)
			hit.wait(1.5)
			proxy.disarm()
			if hit.is_set():
				return rows
		return None

	return strike


for each in ("drop", "noreply", "ghost", "orphan", "half", "stall"):
	around_commit(each)


@kind("clock-server", needs=SERVER)
def clock_server(field, rng):
	"""Hours forward or back, and after a while right again."""
	clock, rows = field.campaign.clock, field.all_rows()
	clock.set(rng.choice((-1, 1)) * rng.choice((70, 3600, 30 * 3600)))
	field.later(rng.uniform(2, 6), lambda: clock.set(0))
	return rows


@kind("clock-worker")
def clock_worker(field, rng):
	target = field.choose(rng, lambda v: v["process"] and v["process"].clock)
	if not target:
		return None
	target["process"].clock.set(rng.choice((-1, 1)) * rng.choice((70, 3600, 30 * 3600)))
	field.later(rng.uniform(1, 5), lambda: target["process"].clock.set(0))
	return [target["row"]]


@kind("disk-server", needs=SERVER)
def disk_server(field, rng):
	"""No disk space where the server's data lie."""
	db, rows = field.campaign.db, field.all_rows()
	if not db.alive():
		return None
	db.disk.fill()
	field.later(rng.uniform(1, 4), db.disk.empty)
	return rows


@kind("disk-log")
def disk_log(field, rng):
	"""No disk space where workers write the commands' output, and what they keep for the server."""
	small = field.campaign.small
	mine = field.workers(lambda v: str(small.path).encode() in place.slurp("/proc/%d/cmdline" % v["pid"]))
	if not mine:
		return None
	small.fill()
	field.later(rng.uniform(1, 3), small.empty)
	return [v["row"] for v in mine]


@kind("log-hang")
def log_hang(field, rng):
	"""The directory of some workers' output does not answer: for less than a lease, or for two of the longest."""
	mine = field.workers(lambda v: "FAULT_HANG" in v["env"])
	flag = field.load.hanging.with_suffix(".hang")
	if not mine or flag.exists():
		return None
	flag.touch()
	field.later(rng.choice((1, 4, 12)), lambda: flag.unlink(missing_ok=True))
	return [v["row"] for v in mine]


@kind("node-cut")
def node_cut(field, rng):
	"""The cable of a node is pulled, for less or more than a lease."""
	node = rng.choice(field.campaign.plain_nodes)
	rows = [v["row"] for v in field.workers(lambda v: v["env"].get("FAULT_NODE") == node.name)]
	if not rows:
		return None
	node.cut()
	field.later(rng.choice((1, 3, 8)), node.mend)
	return rows


@kind("galera-lag", needs=("cluster",))
def galera_lag(field, rng):
	"""One server of the cluster falls behind the others, for longer than a read there is willing to wait, too."""
	db = field.campaign.db
	server = rng.randrange(1, len(db.ports))
	if not db.lag(server):
		return None
	field.later(rng.choice((0.5, 2, 4, 7)), lambda: db.catch_up(server))
	return field.all_rows()
