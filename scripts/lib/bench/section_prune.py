# SPDX-License-Identifier: BSD-2-Clause
"""
prune: entries that are done leave the database for an archive, against `jobstack export` of the same attempts, which writes
the same records and removes nothing; and without an archive.  The attempts are made by SQL (MariaDB's sequences), as
workers would have recorded them.
"""
from table import Wanted

DONE = """SET @s=(SELECT stack_id FROM stack WHERE name='old'), @at=UTC_TIMESTAMP(6)-INTERVAL 40 DAY;
INSERT INTO worker(token,stack_id,kind,started,beat,lease_us,ended,slots,node,user,slurm_account,identity,oldest,newest)
	VALUES(REPEAT('w',16),@s,0,@at,@at,1,@at,4,'n17','anna','physics',JSON_OBJECT('host','n17.site','cwd','/home/anna/airs',
	'log','/home/anna/airs/jobstack-logs/old/job4711.log','cluster','site','job','4711','partition','batch'),
	UNIX_TIMESTAMP(@at),UNIX_TIMESTAMP(@at));
SET @w=LAST_INSERT_ID();
INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,exit_code,started,ended,log_at,log_out,log_err,user_us,system_us,maxrss_kib,
	read_bytes,write_bytes,major_faults,storage_read_bytes,storage_write_bytes,peak_kib,io_wait_us,program,mount) SELECT @s,seq,1,@w,0,1,0,
	@at-INTERVAL 2 SECOND,@at,seq*200,100,0,1500000+seq%%1000,20000+seq%%77,50000+seq%%999,1000000+seq,5000,3,4096,8192,60000,1000,1234567890123,
	987654321 FROM seq_1_to_%(n)d;
INSERT INTO closed(stack_id,worker_id,seq,oldest,newest,list) SELECT @s,@w,seq,UNIX_TIMESTAMP(@at),UNIX_TIMESTAMP(@at),
	CONCAT(1+(seq-1)*10000,'-',seq*10000,':1,') FROM seq_1_to_%(lists)d;
DELETE FROM span WHERE stack_id=@s;
UPDATE stack SET done=%(n)d WHERE stack_id=@s"""


def filled(here, n):
	cnf = here.database("prune")
	here.push(cnf, "old", n)
	here.sql(DONE % {"n": n, "lists": n // 10000}, "prune")
	here.settle()
	return cnf


def measure(here, table):
	n = 100000 if here.quick else 1000000
	what = "{:,} attempts".format(n)
	kept = table.row("prune", "%s, with an archive" % what, "s", "jobstack export", [Wanted("ours", 15e-6 * n, most=True)])
	gone = table.row("prune", "%s, without one" % what, "s")
	size = table.row("prune", "%s, the archive" % what, "MB", "jobstack export", [Wanted("ratio", 1.1, most=True)])
	for _ in range(here.runs):
		cnf = filled(here, n)
		exported = here.run(["bash", "-c", "jobstack export -s old --format jsonl >exported && wc -c <exported"], cnf)
		pruned = here.run(["bash", "-c", "jobstack prune -q -s old --older-than 30d --archive archive && wc -c <archive"], cnf)
		kept.theirs.append(exported.seconds)
		kept.ours.append(pruned.seconds)
		size.theirs.append(int(exported.out) / 1e6)
		size.ours.append(int(pruned.out) / 1e6)
		here.run(["rm", "exported", "archive"])
		gone.ours.append(here.run(["jobstack", "prune", "-q", "-s", "old", "--older-than", "30d"], filled(here, n)).seconds)
	here.drop("prune")
