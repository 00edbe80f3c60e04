# SPDX-License-Identifier: BSD-2-Clause
"""
What is at work in a round: pushers that trickle, workers of all sizes on this host and on nodes with a cable, jobs in
Slurm, scripts that pop.  Whoever falls is replaced, until the round says that faults are over.  What each did is
written down for the audit.
"""
import json
import os
import random
import signal
import subprocess
import threading
import time

import labs
import place

TAGGED = "FAULT_ROUND"

# Ways to run the command so that the kernel does not end it with its worker: below a shell or timeout it is no child of the worker,
# and who becomes another user is spared.
WRAPS = [["sh", "-c", '"$0" "$1"; exit $?'], ["timeout", "1000"]]
if os.geteuid() == 0:
	WRAPS += [["setpriv", "--reuid=65534", "--clear-groups"], ["su", "-s", "/bin/sh", "-c", 'exec "$0" "$1"', "nobody"]]


def a_name(rng, number, often_long):
	"""A datapath: what its command does, and for how long."""
	what = rng.choices(("ok", "fail", "fail1", "temp1", "deaf", "leave"), (76, 2, 5, 5, 6, 6))[0]
	long = rng.random() < (0.25 if often_long else 0.05) and what in ("ok", "deaf", "leave")
	return "/e/%d/%s/%d" % (number, what, rng.choice((1000, 2000, 4000, 6000)) if long else rng.randint(1, 300))


class Stack:
	"""One list, with a policy of its own, and what it has to hold in the end."""

	def __init__(self, name, rng, base=0, often_long=False):
		self.name, self.rng, self.base, self.names, self.extra = name, rng, base, [], []
		self.lock = threading.Lock()
		self.often_long = often_long
		if rng is None:
			return
		self.policy = ["--retry-delay", "%.1f" % rng.choice((0, 0.2, 0.5)), "--max-attempts", str(rng.choice((2, 3))),
			       "--max-losses", str(rng.choice((3, 50, 50)))]
		self.unpushed = 1  # pushes that have not ended well

	def more(self, n):
		"""N names more."""
		with self.lock:
			new = [a_name(self.rng, self.base + len(self.names) + i + 1, self.often_long) for i in range(n)]
			self.names += new
			return new


class Load:
	"""The clients of one round."""

	def __init__(self, campaign, number, rng):
		self.campaign, self.rng, self.name = campaign, rng, "r%d" % number
		self.dir = campaign.root / self.name
		for part in ("locks", "logs", "workers", "cnf"):
			(self.dir / part).mkdir(parents=True)
		self.hanging = self.dir / "hanging"  # while there is a file hanging.hang, some workers' log directory hangs
		self.witness, self.records = self.dir / "witness", self.dir / "records"
		self.witness.touch()
		self.witness.chmod(0o666)  # some commands become nobody
		(self.dir / "locks").chmod(0o777)
		self.records.touch()
		self.over, self.settled = threading.Event(), threading.Event()
		self.lock = threading.Lock()
		self.threads, self.processes, self.notes, self.requeued = [], [], [], []
		self.freeze, self.ends, self.backlog = None, {}, {}
		self.cnf = campaign.db.create(self.name)
		self.environment = dict(os.environ, JOBSTACK_DEFAULTS_FILE=str(self.cnf), FAULT_WITNESS=str(self.witness),
					FAULT_LOCKS=str(self.dir / "locks"), TMPDIR=str(self.dir), FAULT_ROUND=self.name)
		place.run("jobstack", "init", "-q", env=self.environment)
		self.stacks = [Stack("%s.%d" % (self.name, i), random.Random(rng.random()), 100000 * i, i == 2) for i in range(3)]
		self.near = self.stacks[2]  # its workers are all on this host, some of its commands are wrapped, and many are long
		self.elsewhere = Stack(self.name + ".elsewhere", None)  # where dead ones are moved to, if they are
		self.proxies = []

	# ------------------------------------------------------------------------------------------------------ small things

	def by_proxy(self):
		"""A way to the server that can be struck: its option file and the proxy."""
		proxy = self.campaign.proxies.open()
		path = self.dir / "cnf" / ("%d.cnf" % proxy.port)
		self.campaign.db.option_file(self.name, path, place.BRIDGE, proxy.port)
		with self.lock:
			self.proxies.append(proxy)
		return path, proxy

	def record(self, **what):
		"""A line that the audit will read."""
		with self.lock, open(self.records, "a") as file:
			file.write(json.dumps(what) + "\n")

	def note(self, text):
		with self.lock:
			self.notes.append("%.1f %s" % (time.monotonic() - self.campaign.began, text))

	def thread(self, function, *arguments):
		def guarded():
			try:
				function(*arguments)
			except Exception as error:  # a fault of the campaign: it must not look like success
				self.campaign.broken.append("%s: %s: %r" % (self.name, function.__name__, error))

		t = threading.Thread(target=guarded, daemon=True)
		self.threads.append(t)
		t.start()

	def popen(self, command, log, **more):
		with open(self.dir / "workers" / log, "ab") as out:
			process = subprocess.Popen(command, stdin=more.pop("stdin", subprocess.DEVNULL), stdout=out, stderr=out,
						   env=more.pop("env", self.environment), cwd=self.dir, start_new_session=True, **more)
		with self.lock:
			self.processes.append(process)
		return process

	# ----------------------------------------------------------------------------------------------------------- pushers

	def pushing(self, stack, env, proxy, *options):
		"""A push that reads names from its standard input."""
		process = self.popen(["jobstack", "push", "-q", "--unique", "-s", stack.name, *options] + stack.policy,
				     "push-%s" % stack.name, stdin=subprocess.PIPE, env=env)
		process.proxy = proxy
		process.role = "push"
		return process

	def atomic_pusher(self, stack, rng):
		"""Pushes names in lists, each --atomic; a list whose push is cut short is pushed again, with --unique.  The other pusher of
		the stack pushes some of them, too, when it begins again."""
		while not self.over.is_set():
			if self.backlog.get(stack.name, 0) >= self.campaign.backlog:
				self.over.wait(0.2)
				continue
			names = stack.more(rng.randint(4, 16))
			for _ in range(1000):
				cnf, proxy = self.by_proxy() if rng.random() < 0.3 else (self.cnf, None)
				process = self.pushing(stack, dict(self.environment, JOBSTACK_DEFAULTS_FILE=str(cnf)), proxy, "--atomic")
				try:
					process.stdin.write("".join(n + "\n" for n in names[2:]).encode())
					process.stdin.flush()
					self.over.wait(rng.uniform(0.2, 1.5)) # meanwhile they are held
					process.stdin.write("".join(n + "\n" for n in names[:2]).encode())
					process.stdin.close()
				except OSError:
					pass
				if process.wait() == 0:
					break
				time.sleep(0.2) # as in push: it was struck, and the tries are counted
			else:
				raise RuntimeError("1000 pushes --atomic to %s failed" % stack.name)
		stack.unpushed -= 1

	def pusher(self, stack, rng):
		"""Pushes names in a trickle, so that there is something to do until the faults are over; when that is cut short,
		again from the first name, with --unique."""
		for _ in range(1000):
			cnf, proxy = self.by_proxy() if rng.random() < 0.6 else (self.cnf, None)
			env = dict(self.environment, JOBSTACK_DEFAULTS_FILE=str(cnf))
			process = self.pushing(stack, env, proxy)
			try:
				todo = list(stack.names)
				while True:
					process.stdin.write("".join(n + "\n" for n in todo).encode())
					process.stdin.flush()
					todo = []
					if self.over.wait(rng.uniform(0.1, 0.6)):
						break
					if self.backlog.get(stack.name, 0) < self.campaign.backlog:
						todo = stack.more(rng.randint(4, 16))
				process.stdin.close()
			except OSError:
				pass
			if process.wait() == 0:
				stack.unpushed -= 1
				return
			time.sleep(0.2) # it was struck: it is begun again, not in a hurry, and the tries are counted
		raise RuntimeError("1000 pushes to %s failed" % stack.name)

	# ----------------------------------------------------------------------------------------------------------- workers

	def worker_command(self, rng, stack, log_dir=None, wrap=()):
		lease = rng.choice((2, 2, 3, 4, 6))
		return ["jobstack-worker", "-s", stack.name, "--slots", str(rng.randint(1, 3)), "--lease", str(lease),
			"--grace", rng.choice(("0.2", "0.5", "1")), "--idle-timeout", "3", "--log-dir", str(log_dir or self.dir / "logs"),
			"--", *wrap, str(self.campaign.root / "witness"), "{}"]

	def plain(self, slot, rng):
		"""Keeps one worker at work on this host or on a node: when it ends, the next one."""
		number = 0
		while not self.over.is_set():
			number += 1
			away = slot % 4 == 0 and self.campaign.plain_nodes
			of = [self.near] if slot % 4 == 3 else self.stacks[:2] if away else self.stacks
			stack, proxy, wrap, clock = rng.choice(of), None, [], None
			env = dict(self.environment, FAULT_SLOT=str(slot))
			commands = rng.choice(WRAPS) if slot % 4 == 3 else ()
			if commands:
				env["FAULT_WRAP"] = commands[0]
			log_dir = self.campaign.small.path / self.name if slot % 4 == 2 else None
			if rng.random() < 0.5:
				cnf, proxy = self.by_proxy()
				env["JOBSTACK_DEFAULTS_FILE"] = str(cnf)
			if away:
				node = self.campaign.plain_nodes[slot // 4 % len(self.campaign.plain_nodes)]
				wrap = node.within()
				env["FAULT_NODE"] = node.name
			elif slot % 4 == 1:
				clock = labs.Clock(self.dir / ("clock-%d-%d" % (slot, number)), self.campaign.root / "shim.so")
				env.update(clock.environment())
			elif slot % 4 == 3:
				log_dir = self.hanging
				env.update(LD_PRELOAD=str(self.campaign.root / "shim.so"), FAULT_HANG=str(log_dir))
			name = "worker-%d-%d" % (slot, number)
			process = self.popen(wrap + self.worker_command(rng, stack, log_dir, commands), name, env=env)
			process.proxy, process.clock, process.role, process.name = proxy, clock, "worker", name
			self.count(process.wait())
			self.over.wait(0.2)

	def count(self, status):
		with self.lock:
			self.ends[status] = self.ends.get(status, 0) + 1

	def slurm_feeder(self, rng):
		"""Keeps jobs in the cluster."""
		slurm = self.campaign.slurm
		script = self.dir / "job.sbatch"
		script.write_text('#!/bin/bash\nexec srun -Q --kill-on-bad-exit=0 "$@"\n')
		script.chmod(0o755)
		while not self.over.is_set():
			jobs = slurm.ask("squeue", "-h", "-o", "%A")
			if jobs is not None and len(jobs.split()) < len(slurm.nodes):
				stack = rng.choice(self.stacks[:2])
				words = ["sbatch", "-Q", "-N1", "-n1", "-c2", "--time=30", "--output=%s/workers/slurm-%%j" % self.dir,
					 "--open-mode=append", rng.choice(("--requeue", "--no-requeue")), "--export=ALL"]
				slurm.ask(*words, str(script), *self.worker_command(rng, stack), timeout=5, cwd=self.dir,
					  env=dict(self.environment, **slurm.environment))
			self.over.wait(0.5)

	# ----------------------------------------------------------------------------------------------------------- scripts

	def tool(self, *command, **more):
		"""One run of jobstack; its status and output.  A signal's status is negative.  One without memory is given some seconds:
		OpenSSL 3.5 waits for itself for ever if there is none when it begins (`openssl rand` does, too)."""
		log = open(self.dir / "workers" / "tools", "ab")
		process = subprocess.Popen(["jobstack"] + list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
					   env=dict(self.environment, **more), cwd=self.dir, start_new_session=True)
		log.close()
		try:
			out = process.communicate(timeout=10 if "FAULT_MALLOC" in more else None)[0]
		except subprocess.TimeoutExpired:
			process.kill()
			out = process.communicate()[0]
		return process.returncode, out.decode()

	def script(self, rng):
		"""A script: pop, work, close; now and then it freezes beyond its lease and closes late."""
		cnf, self.script_proxy = self.by_proxy()
		env = {"JOBSTACK_DEFAULTS_FILE": str(cnf)}
		while not self.over.is_set():
			stack = rng.choice(self.stacks)
			status, out = self.tool("pop", "-q", "--json", "--lease", "3", "-s", stack.name, **env)
			if status != 0 or not out:
				self.over.wait(0.3)
				continue
			self.one_entry(rng, json.loads(out), env)

	@staticmethod
	def entry_environment(e):
		"""What a script that popped has in its environment."""
		return {"JOBSTACK_STACK": e["stack"], "JOBSTACK_ENTRY": str(e["entry"]), "JOBSTACK_ATTEMPT": str(e["attempt"]),
			"JOBSTACK_WORKER": str(e["worker"])}

	def witness_of(self, e, env):
		"""Runs the command on what a script has popped; its exit code."""
		return subprocess.run([str(self.campaign.root / "witness"), e["datapath"], "script"], stdin=subprocess.DEVNULL,
				      stdout=subprocess.DEVNULL, env=dict(self.environment, **env)).returncode

	def one_entry(self, rng, e, env):
		freeze, self.freeze = self.freeze, None
		mine = dict(env, **self.entry_environment(e))
		if freeze:
			freeze()
			time.sleep(rng.uniform(4, 7)) # the fault itself: longer than some of the leases, shorter than others
		self.close(e, self.witness_of(e, mine), mine, late=bool(freeze))

	def close(self, e, code, env, late=False, **first):
		"""Closes until it is said yes or no; FIRST is for the first try alone."""
		end = time.monotonic() + 300
		while True:
			status, _ = self.tool("close", "--exit", str(code), **dict(env, **first))
			if status in (0, 1, 2) or time.monotonic() > end:  # 2: it was closed, or lost, and pruned
				break
			first = {}
			time.sleep(0.3) # between two tries; what is waited for is the answer; the bound ends a hang
		self.record(what="close", stack=e["stack"], entry=e["entry"], attempt=e["attempt"], worker=e["worker"], code=code,
			    status=status, late=late)

	# ----------------------------------------------------------------------------------------------------- the round's end

	def begin(self):
		rng = self.rng
		(self.campaign.small.path / self.name).mkdir()
		for stack in self.stacks:
			self.thread(self.pusher, stack, random.Random(rng.random()))
		self.stacks[0].unpushed += 1
		self.thread(self.atomic_pusher, self.stacks[0], random.Random(rng.random()))
		for slot in range(self.campaign.workers):
			self.thread(self.plain, slot, random.Random(rng.random()))
		for _ in range(2):
			self.thread(self.script, random.Random(rng.random()))
		if self.campaign.slurm:
			self.thread(self.slurm_feeder, random.Random(rng.random()))

	def left(self):
		"""What is not at its end yet, as the tables tell: [(stack, pushed, ended, waiting far ahead, paused)]."""
		return self.campaign.db.query(
			"SELECT s.name, s.pushed, (SELECT COUNT(*) FROM attempt a WHERE a.stack_id=s.stack_id AND final=1)+"
			"(SELECT COUNT(*) FROM set_aside d WHERE d.stack_id=s.stack_id)+s.pruned, (SELECT COUNT(*) FROM span p WHERE "
			"p.stack_id=s.stack_id AND class=1 AND due>UTC_TIMESTAMP(6)+INTERVAL 5 SECOND), state FROM stack s", self.name) or []

	def holders(self):
		"""Who still has something, in words."""
		rows = self.campaign.db.query(
			"SELECT CONCAT_WS(' ',w.worker_id,IF(kind=1,'script','worker'),'on',node,'pid',JSON_VALUE(identity,'$.pid'),'job',"
			"COALESCE(JSON_VALUE(identity,'$.job'),'-'),'lease',lease_us/1e6,'silent',TIMESTAMPDIFF(SECOND,beat,UTC_TIMESTAMP(6)),'holds',SUM(open)) "
			"FROM worker w JOIN claim c USING(stack_id,worker_id) GROUP BY w.worker_id", self.name, timeout=3)
		return "; ".join(r[0] for r in rows or [])

	def drain(self, seconds):
		"""Faults are over: ordinary workers until nothing is left.  Whether nothing is."""
		end, pool, number = time.monotonic() + seconds, {}, 0
		twice, tell = False, time.monotonic() + 15
		while time.monotonic() < end:
			rows = self.left()
			for name, pushed, ended, far, state in rows:
				if int(far):
					self.forward()
				if int(state) in (1, 2):  # the breaker: only failures were left; or a cancel that came late
					self.tool("resume", "-q", "-s", name)
				if int(ended) < int(pushed) and (name not in pool or pool[name].poll() is not None):
					number += 1
					pool[name] = self.popen(["jobstack-worker", "-q", "-s", name, "--slots", "8", "--lease", "6",
								 "--idle-timeout", "5", "--log-dir", str(self.dir / "logs"), "--",
								 str(self.campaign.root / "witness"), "{}"], "drain-%d" % number)
			if {r[0] for r in rows} >= {s.name for s in self.stacks} and all(r[1] == r[2] for r in rows) and not any(s.unpushed for s in self.stacks):
				if twice:
					self.note("all was done %.1f s after the faults" % (time.monotonic() - end + seconds))
					return self.all_gone()
				twice = True
				self.note("all was done or dead %.1f s after the faults" % (time.monotonic() - end + seconds))
				for stack in self.stacks:
					self.tool("requeue", "-q", "-t", "dead", "-s", stack.name)
			if time.monotonic() > tell:
				tell += 15
				self.note("still held: %s; pushes that go on: %d; %s" % (self.holders(), sum(s.unpushed for s in self.stacks), rows))
			time.sleep(0.2)
		return False

	def forward(self):
		"""A retry was made due by a clock that was hours ahead: time passes."""
		if not self.campaign.clock_note:
			self.campaign.clock_note = True
			self.note("retries were due by a clock that had been set forward: it is set forward again, for good")
		self.campaign.clock.set(48 * 3600)

	def all_gone(self):
		"""Every process of the round ends by itself."""
		def none():
			return not any(p.poll() is None for p in self.processes)

		return bool(place.wait_for(150, none, 0.1))

	def stop(self):
		"""Ends what is still there, whatever it is."""
		self.over.set()
		self.settled.set()
		for process in self.processes:
			if process.poll() is None:
				place.kill(process.pid)
		for pid in place.named("jobstack", "jobstack-worker", "jobstack-keeper", "witness"):
			place.kill(pid)
		for process in self.processes:
			process.wait()
		for proxy in self.proxies:
			self.campaign.proxies.close(proxy)


class Sample:
	"""Who holds what, as of a moment ago: asked for twice a second, so that a strike needs not wait for an answer."""

	def __init__(self, load):
		self.load, self.rows, self.lost, self.kinds = load, [], set(), {}

	def ask(self, sql):
		return self.load.campaign.db.query(sql, self.load.name, timeout=2)

	def look(self):
		rows = self.ask("SELECT w.worker_id,COALESCE(JSON_VALUE(w.identity,'$.pid'),0),COALESCE(JSON_VALUE(w.identity,'$.host'),''),COALESCE(w.node,''),"
				"COALESCE(JSON_VALUE(w.identity,'$.job'),''),"
				"w.lease_us,w.kind,COALESCE(SUM(c.open),0),s.name FROM worker w JOIN stack s ON s.stack_id=w.stack_id LEFT JOIN "
				"claim c ON c.stack_id=w.stack_id AND c.worker_id=w.worker_id WHERE w.ended IS NULL GROUP BY w.worker_id")
		if rows is not None:
			self.rows = [dict(worker=int(r[0]), pid=int(r[1]), host=r[2], node=r[3], job=r[4], lease=int(r[5]) / 1e6,
					  script=r[6] == "1", open=int(r[7]), stack=r[8]) for r in rows]
			for r in self.rows:
				self.kinds[r["worker"]] = (r["script"], bool(r["job"]))
		ready = self.ask("SELECT s.name,SUM(hi-lo+1) FROM span p JOIN stack s USING(stack_id) WHERE class=0 GROUP BY s.name")
		if ready is not None:
			self.load.backlog = {r[0]: int(r[1]) for r in ready}
		lost = self.ask("SELECT stack_id,entry_id,attempt FROM attempt WHERE outcome=2")
		self.lost.update(tuple(int(x) for x in row) for row in lost or [])

	def watch(self):
		while not self.load.settled.wait(0.5):
			self.look()

	def of(self, condition):
		return [r for r in self.rows if condition(r)]
