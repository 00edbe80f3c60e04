# SPDX-License-Identifier: BSD-2-Clause
"""
A Galera cluster of three servers in place of the one server (campaign --galera): half of the clients are spread over all three.
A server can be made to lag behind the others.
"""
import re
import subprocess
import threading

import labs
import place

SERVERS = 3


class Cluster(labs.Database):
	"""Those who ask for "the" server get the first one, with all that was committed before, anywhere."""

	setting = "SET SESSION wsrep_sync_wait=1;"

	def __init__(self, root):
		self.disk = labs.Disk(root / "disk", 1500)
		top = self.disk.path / "cluster"
		labs.bash("cluster", top, SERVERS, timeout=240)
		self.dirs = [top / str(i + 1) for i in range(SERVERS)]
		self.begin(self.dirs[0])
		self.ports = [int(re.search(r"port=(\d+)", (d / "admin.cnf").read_text()).group(1)) for d in self.dirs]
		self.laggards, self.lock = {}, threading.Lock() # a server's number, and the session that holds it up
		self.query("CREATE DATABASE lag; CREATE TABLE lag.t(n BIGINT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO lag.t VALUES(0)")

	def start(self):
		"""Nothing of it is ever struck down: it has to be there."""
		for server in range(1, SERVERS):
			self.catch_up(server)
		if not place.wait_for(300, self.answers):
			raise RuntimeError("the cluster does not answer: see %s/server.log" % self.dir)

	def lag(self, server):
		"""From now on SERVER does nothing that others commit: a table that they write is locked there.  Whether it is so."""
		with self.lock:
			if server in self.laggards:
				return False
			session = self.laggards[server] = subprocess.Popen([self.client, "--defaults-file=%s/admin.cnf" % self.dirs[server], "--skip-column-names", "--unbuffered"],
									   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		session.stdin.write("LOCK TABLES lag.t READ; SELECT 'locked';\n")
		session.stdin.flush()
		locked = session.stdout.readline().strip() == "locked"
		return locked and self.query("UPDATE lag.t SET n=n+1") is not None

	def catch_up(self, server):
		with self.lock:
			session = self.laggards.pop(server, None)
		if session:
			session.stdin.close()
			session.wait(10)
