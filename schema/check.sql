-- SPDX-License-Identifier: BSD-2-Clause
--
-- What `jobstack check` runs: SELECTs that return no rows if the ledger of a stack is right.  Each row is a finding:
-- its kind, an entry number (0: none), and what is wrong.  The comment before a SELECT says what is proved if it
-- returns no rows.  The statements need only the SELECT privilege, lock nothing, and run on MySQL 8.0 and MariaDB 10.5.
-- By hand:
--
--     (echo "START TRANSACTION WITH CONSISTENT SNAPSHOT; SET @js_name='mystack';"; cat check.sql) | mysql DATABASE
--
-- Entry numbers are grouped in blocks of 64.  A set of the entries in a block is a BIGINT with one bit per number.  So
-- a statement keeps one small row per block, and compares two sets by comparing two numbers.  jobstack runs each
-- statement that contains @js_part once for each piece of the stack, and sets these variables before it.  By hand,
-- there is only one piece: the whole stack.
--
-- A statement ends with a semicolon at the end of a line; lines that begin with -- are comments.
SET @js_part=0,@js_parts=1,@js_part_lo=0,@js_part_hi=1099511627775,@js_part_lo16='0000000000',
	@js_part_hi16='FFFFFFFFFF',@js_part_hash_lo='',@js_part_hash_hi=UNHEX(REPEAT('FF',32));

-- The sums begin at 0.
-- (Not SET with a subquery, which would lock the stack's row.)
SELECT MAX(stack_id) INTO @js_stack FROM stack WHERE name=@js_name AND state<>3;
SET @js_entries=0,@js_attempts=0,@js_done=0,
	@js_names=0,@js_matched=0,@js_unnamed=0;
-- There is a stack of this name, and it is not being dropped.
SELECT 'stray' AS kind,0 AS entry,'there is no such stack' AS text FROM (SELECT 1 AS one) d WHERE @js_stack IS NULL;

-- What the rows of each table add up to; the counters are compared with it below.
SELECT @js_entries+COUNT(*) INTO @js_entries FROM entry
	WHERE stack_id=@js_stack AND entry_id BETWEEN @js_part_lo AND @js_part_hi;
SELECT @js_attempts+COUNT(*),@js_done+COALESCE(SUM(final<>0),0) INTO @js_attempts,@js_done FROM attempt
	WHERE stack_id=@js_stack AND entry_id BETWEEN @js_part_lo AND @js_part_hi;
SELECT COALESCE(SUM(state=0),0),COALESCE(SUM(state=2),0),
	COALESCE(SUM(state=1),0) INTO @js_dead,@js_moved,@js_cancelled FROM set_aside WHERE stack_id=@js_stack;
SELECT COALESCE(SUM(IF(class=0,n,0)),0),COALESCE(SUM(IF(class=1,n,0)),0),COALESCE(SUM(IF(class=2,n,0)),0)
	INTO @js_ready,@js_waiting,@js_held FROM
	(SELECT class,IF(hi<lo,0,LEAST(hi,1099511627775)+1-LEAST(lo,1099511627775)) AS n FROM span WHERE stack_id=@js_stack) s;
SELECT COALESCE(SUM(open),0) INTO @js_running FROM claim WHERE stack_id=@js_stack;

-- Each entry is in exactly one place: in one span, in one claim that has no attempt of its number on record (an open
-- one), done, or in `set_aside`; and nothing else is in a place.  The attempts of an entry are numbered 1, 2, 3 without a gap.
-- A span or claim names the next one, and a final attempt (which is done) and a row in `set_aside` are those of the last one.
--
-- t: rows for each block B and attempt number K, where attempt 0 is the entry itself.  M: the entries that have an
-- attempt K.  P: those in a place that says that K was their last attempt.  X: the XOR of what is ORed in P, so an
-- entry that is there twice is missing.  C: how many entries these are, with repetitions.  D: 1 in the first block that
-- a span covers completely, and -1 in the block after the last.  Z: entries with an attempt that is never valid.  U:
-- those whose attempt K failed.  Y: those whose place counts one failure.
-- o: RUN: how many spans for attempt K + 1 cover the whole block; RUNS: the same for any attempt.  NM and LM: the M of
-- K + 1 and K - 1.  P must be M
-- without NM, with no entry twice, and M must lie in LM.  v: what is wrong in each block; GAP: a span goes on, but there is
-- no entry in the next block.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<511),
t AS (
	SELECT entry_id DIV 64 AS b,0 AS k,BIT_OR(1<<(entry_id&63)) AS m,BIT_OR(0) AS p,BIT_XOR(0) AS x,0 AS c,0 AS d,
		BIT_OR(0) AS z,BIT_OR(0) AS u,BIT_OR(0) AS y
		FROM entry WHERE stack_id=@js_stack AND entry_id BETWEEN @js_part_lo AND @js_part_hi GROUP BY 1
	UNION ALL
	SELECT entry_id DIV 64,attempt,BIT_OR(1<<(entry_id&63)),BIT_OR((final<>0)<<(entry_id&63)),
		BIT_XOR((final<>0)<<(entry_id&63)),SUM(final<>0),0,
		BIT_OR((attempt=0 OR (final<>0 AND outcome<>0))<<(entry_id&63)),BIT_OR((outcome=1)<<(entry_id&63)),BIT_OR(0)
		FROM attempt WHERE stack_id=@js_stack AND entry_id BETWEEN @js_part_lo AND @js_part_hi GROUP BY 1,2
	UNION ALL
	SELECT entry_id DIV 64,attempt,BIT_OR(0),BIT_OR(1<<(entry_id&63)),BIT_XOR(1<<(entry_id&63)),COUNT(*),0,BIT_OR(0),BIT_OR(0),
		BIT_OR(0)
		FROM set_aside WHERE stack_id=@js_stack AND entry_id BETWEEN @js_part_lo AND @js_part_hi GROUP BY 1,2
	UNION ALL
	SELECT e DIV 64,k,BIT_OR(0),BIT_OR(1<<(e&63)),BIT_XOR(1<<(e&63)),COUNT(*),0,BIT_OR(0),BIT_OR(0),BIT_OR((fails=1)<<(e&63)) FROM
		(SELECT CAST(CONV(SUBSTR(s.ids,n.i*11+1,10),16,10) AS UNSIGNED) AS e,CAST(s.attempt AS SIGNED)-1 AS k,s.fails
		FROM span s STRAIGHT_JOIN n ON n.i BETWEEN s.lo AND s.hi
		WHERE s.stack_id=@js_stack AND s.ids IS NOT NULL AND SUBSTR(s.ids,LEAST(s.lo,999)*11+1,10)<=@js_part_hi16
			AND SUBSTR(s.ids,LEAST(s.hi,999)*11+1,10)>=@js_part_lo16
			AND SUBSTR(s.ids,n.i*11+1,10) BETWEEN @js_part_lo16 AND @js_part_hi16) l GROUP BY 1,2
	UNION ALL
	SELECT b,k,BIT_OR(0),BIT_OR(p),BIT_XOR(p),SUM(BIT_COUNT(p)),SUM(d),BIT_OR(0),BIT_OR(0),BIT_OR(p*fails) FROM
		(SELECT CASE v WHEN 1 THEN lo DIV 64 WHEN 2 THEN hi DIV 64 WHEN 3 THEN lo DIV 64+1 ELSE hi DIV 64 END AS b,k,
			fails=1 AND hi DIV 64<=lo DIV 64+1 AS fails,
			CASE v WHEN 1 THEN (~0<<(lo&63))&(~0>>IF(lo DIV 64=hi DIV 64,63-(hi&63),0)) WHEN 2 THEN ~0>>(63-(hi&63))
				ELSE ~0&0 END AS p,
			CASE v WHEN 3 THEN 1 WHEN 4 THEN -1 ELSE 0 END AS d
		FROM (SELECT GREATEST(lo,@js_part_lo) AS lo,LEAST(hi,@js_part_hi) AS hi,CAST(attempt AS SIGNED)-1 AS k,fails FROM span
			WHERE stack_id=@js_stack AND ids IS NULL AND lo<=hi AND lo<=@js_part_hi AND hi>=@js_part_lo) s
		STRAIGHT_JOIN (SELECT 1 AS v UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) v
		ON v=1 OR lo DIV 64<hi DIV 64) i GROUP BY 1,2
	UNION ALL
	SELECT e DIV 64,k,BIT_OR(0),BIT_OR(1<<(e&63)),BIT_XOR(1<<(e&63)),COUNT(*),0,BIT_OR(0),BIT_OR(0),BIT_OR((fails=1)<<(e&63)) FROM
		(SELECT c.e,CAST(c.attempt AS SIGNED)-1 AS k,c.fails FROM
			(SELECT IF(c.ids IS NULL,LEAST(c.lo,1099511627775)+n.i,
				CAST(CONV(SUBSTR(c.ids,(LEAST(c.lo,999)+n.i)*11+1,10),16,10) AS UNSIGNED)) AS e,c.attempt,c.fails
			FROM claim c STRAIGHT_JOIN n ON LEAST(c.lo,1099511627775)+n.i<=c.hi WHERE c.stack_id=@js_stack) c
		LEFT JOIN attempt a ON a.stack_id=@js_stack AND a.entry_id=c.e AND a.attempt=c.attempt
		WHERE c.e BETWEEN @js_part_lo AND @js_part_hi AND a.stack_id IS NULL) j GROUP BY 1,2
),
g AS (SELECT b,k,BIT_OR(m) AS m,BIT_OR(p) AS p,BIT_XOR(x) AS x,SUM(c) AS c,SUM(d) AS d,BIT_OR(z) AS z,
	BIT_OR(u) AS u,BIT_OR(y) AS y FROM t GROUP BY b,k),
o AS (SELECT b,k,m,p,x,c,z,u,y,SUM(d) OVER (PARTITION BY k ORDER BY b) AS run,SUM(d) OVER (ORDER BY b) AS runs,
	IF(LEAD(k) OVER (PARTITION BY b ORDER BY k)=k+1,LEAD(m) OVER (PARTITION BY b ORDER BY k),m&0) AS nm,
	IF(k=0,m,IF(LAG(k) OVER (PARTITION BY b ORDER BY k)=k-1,LAG(m) OVER (PARTITION BY b ORDER BY k),m&0)) AS lm FROM g),
q AS (SELECT b,k,m,nm,lm,p|~0*(run>0) AS p,z,u,y,runs,(p&~x)|p*(run>0)|~0*(run>1) AS twice,
	c+64*run<>BIT_COUNT(p|~0*(run>0)) AS more FROM o),
f AS (SELECT b,k,m,nm,lm,p,z,u,y,runs,IF(twice=0,p,twice)*more AS twice FROM q),
h AS (SELECT b,BIT_OR(m*(k=0)) AS e,BIT_OR(p|~0*(runs>0)) AS p,MAX(runs) AS runs,
	BIT_OR(twice)|(BIT_OR(p)&~BIT_XOR(p)) AS twice,BIT_OR(z|twice|(p^(m&~nm))|(m&~lm))|(BIT_OR(y)&~BIT_OR(u)) AS bad FROM f GROUP BY b),
v AS (SELECT b,e,p,twice,bad|twice AS bad,runs>0 AND NOT LEAD(b) OVER (ORDER BY b)<=>b+1 AS gap FROM h),
r AS (SELECT kind,entry,ROW_NUMBER() OVER (PARTITION BY kind ORDER BY entry) AS nth FROM
	(SELECT b*64+n.i AS entry,IF(n.i=64 OR (e>>n.i)&1=0,'stray',IF((p>>n.i)&1=0,'lost',
		IF((twice>>n.i)&1,'doubled','attempt'))) AS kind
	FROM v STRAIGHT_JOIN n ON (n.i<64 AND (bad>>n.i)&1) OR (n.i=64 AND gap) WHERE bad<>0 OR gap) e)
SELECT r.kind,r.entry,CONCAT_WS('; ',CASE r.kind WHEN 'stray' THEN 'there is no such entry, but rows name its number'
	WHEN 'lost' THEN 'it is nowhere: not queued, not claimed, not done, not dead, not cancelled'
	WHEN 'doubled' THEN 'it is in more than one place' ELSE 'its attempts and its place do not agree' END,
	IF(nth>20,NULL,CONCAT('in ',NULLIF(CONCAT_WS(', and in ',
	(SELECT GROUP_CONCAT('the ',ELT(LEAST(s.class,3)+1,'ready','waiting','held','nameless'),
		' row in the table `span` at rank ',s.`rank`,', pos ',s.pos,' for attempt ',s.attempt,
		IF(s.fails+s.losses>0,CONCAT(' after ',s.fails,' failures and ',s.losses,' losses'),'')
		ORDER BY s.class,s.`rank`,s.pos SEPARATOR ', and in ')
		FROM span s WHERE s.stack_id=@js_stack AND IF(s.ids IS NULL,r.entry BETWEEN s.lo AND s.hi,
		LOCATE(CONCAT(LPAD(HEX(r.entry),10,'0'),','),
			SUBSTR(s.ids,LEAST(s.lo,999)*11+1,(LEAST(s.hi,999)+1-LEAST(s.lo,s.hi,999))*11))>0)),
	(SELECT GROUP_CONCAT('claim ',c.claim_no,' of worker ',c.worker_id,' for attempt ',c.attempt,
		IF(c.fails+c.losses>0,CONCAT(' after ',c.fails,' failures and ',c.losses,' losses'),'')
		ORDER BY c.worker_id,c.claim_no SEPARATOR ', and in ')
		FROM claim c LEFT JOIN attempt a ON a.stack_id=c.stack_id AND a.entry_id=r.entry AND a.attempt=c.attempt
		WHERE c.stack_id=@js_stack AND a.stack_id IS NULL AND IF(c.ids IS NULL,r.entry BETWEEN c.lo AND c.hi,
		LOCATE(CONCAT(LPAD(HEX(r.entry),10,'0'),','),
			SUBSTR(c.ids,LEAST(c.lo,999)*11+1,(LEAST(c.hi,999)+1-LEAST(c.lo,c.hi,999))*11))>0)),
	(SELECT GROUP_CONCAT('the done entries by attempt ',a.attempt ORDER BY a.attempt SEPARATOR ', and in ')
		FROM attempt a WHERE a.stack_id=@js_stack AND a.entry_id=r.entry AND a.final<>0),
	(SELECT CONCAT('the ',ELT(LEAST(d.state,3)+1,'dead','cancelled','moved','nameless'),' entries after attempt ',
		d.attempt) FROM set_aside d WHERE d.stack_id=@js_stack AND d.entry_id=r.entry)),''))),
	IF(nth>20,NULL,CONCAT('attempts on record: ',COALESCE((SELECT GROUP_CONCAT(a.attempt,' ',
		ELT(LEAST(a.outcome,4)+1,'done','failed','lost','interrupted','of no kind') ORDER BY a.attempt SEPARATOR ', ')
		FROM attempt a WHERE a.stack_id=@js_stack AND a.entry_id=r.entry),'none')))) AS text FROM r;

-- No span or claim counts more failures or losses of an entry than its attempts on record have.  (Where one
-- failure is counted, the statement above proves that there is one, but for spans of whole blocks.)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<511),
s AS (
	SELECT 'span' AS place,lo,hi,ids,fails,losses FROM span WHERE stack_id=@js_stack
		AND (fails>1 OR losses>0 OR (fails>0 AND ids IS NULL AND hi DIV 64>lo DIV 64+1)) AND lo<=hi AND MOD(CRC32(pos),@js_parts)=@js_part
	UNION ALL
	SELECT 'claim',lo,hi,ids,fails,losses FROM claim WHERE stack_id=@js_stack
		AND (fails>1 OR losses>0) AND lo<=hi AND MOD(CRC32(claim_no),@js_parts)=@js_part
),
e AS (
	SELECT place,lo AS entry,fails,losses FROM s WHERE ids IS NULL
	UNION ALL
	SELECT place,LEAST(lo,1099511627775)+n.i+512*o.i,fails,losses FROM s STRAIGHT_JOIN n o ON 512*o.i<=hi-lo
		STRAIGHT_JOIN n ON n.i+512*o.i<=hi-lo WHERE ids IS NULL AND hi>lo AND n.i+o.i>0
	UNION ALL
	SELECT place,CAST(CONV(SUBSTR(ids,n.i*11+1,10),16,10) AS UNSIGNED),fails,losses FROM s
		STRAIGHT_JOIN n ON n.i BETWEEN lo AND hi WHERE ids IS NOT NULL
)
SELECT 'attempt' AS kind,entry,CONCAT('its ',place,' counts ',fails,' failures and ',losses,' losses of this entry, but ',
	'these attempts are on record: ',COALESCE((SELECT GROUP_CONCAT(a.attempt,' ',ELT(LEAST(a.outcome,4)+1,'done','failed',
	'lost','interrupted','of no kind') ORDER BY a.attempt SEPARATOR ', ')
	FROM attempt a WHERE a.stack_id=@js_stack AND a.entry_id=e.entry),'none')) AS text FROM e
	WHERE COALESCE((SELECT SUM(a.outcome=1)<e.fails OR SUM(a.outcome=2)<e.losses
		FROM attempt a WHERE a.stack_id=@js_stack AND a.entry_id=e.entry),1);

-- Each span has an interval or a list of entries, the pos that its order in the stack needs, and what its class needs:
-- a waiting one a time, a held one a push.
SELECT 'span' AS kind,IF(other IS NULL,first,0) AS entry,CONCAT('the ',ELT(LEAST(class,3)+1,'ready','waiting','held','nameless'),
	' row in the table `span` at rank ',`rank`,', pos ',pos,' ',COALESCE(other,fault)) AS text FROM
	(SELECT s.*,CASE WHEN class>2 THEN 'is of a class that does not exist'
		WHEN pos<>IF(popping_order=2,-CAST(LEAST(first,1099511627776) AS SIGNED),
			CAST(LEAST(last,1099511627776) AS SIGNED)) THEN 'has a pos that does not match its entries'
		WHEN class=1 AND due IS NULL THEN 'is waiting, but has no time when it is due'
		WHEN class<>1 AND due IS NOT NULL THEN 'is not waiting, but has a time when it is due'
		WHEN class=2 AND NOT EXISTS(SELECT 1 FROM push u WHERE u.push_id=s.push_id AND u.stack_id=@js_stack)
		THEN 'is held for a push that does not exist' END AS fault FROM
		(SELECT p.class,p.`rank`,p.pos,p.due,p.push_id,k.popping_order,
			IF(p.ids IS NULL,p.lo,CAST(CONV(SUBSTR(p.ids,LEAST(p.lo,999)*11+1,10),16,10) AS UNSIGNED)) AS first,
			IF(p.ids IS NULL,p.hi,CAST(CONV(SUBSTR(p.ids,LEAST(p.hi,999)*11+1,10),16,10) AS UNSIGNED)) AS last,
			CASE WHEN p.hi<p.lo THEN 'ends before it begins'
			WHEN p.ids IS NULL AND p.lo=0 THEN 'begins at the number 0, which no entry has'
			WHEN MOD(LENGTH(p.ids),11)<>0 OR LENGTH(p.ids)>5500 OR p.hi>=LENGTH(p.ids)/11
			THEN 'has a list that is not as long as it says' END AS other
		FROM span p JOIN stack k ON k.stack_id=p.stack_id
		WHERE p.stack_id=@js_stack AND MOD(CRC32(p.pos),@js_parts)=@js_part) s) s
	WHERE fault IS NOT NULL OR other IS NOT NULL;

-- The list of each span and claim has ten hexadecimal digits and a comma for each entry, in ascending order.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<511),
s AS (
	SELECT 'span' AS kind,CONCAT('the ',ELT(LEAST(class,3)+1,'ready','waiting','held','nameless'),
		' row in the table `span` at rank ',`rank`,', pos ',pos) AS name,lo,hi,ids FROM span
		WHERE stack_id=@js_stack AND ids IS NOT NULL AND hi<LENGTH(ids)/11 AND MOD(CRC32(pos),@js_parts)=@js_part
	UNION ALL
	SELECT 'claim',CONCAT('claim ',claim_no,' of worker ',worker_id),lo,hi,ids FROM claim
		WHERE stack_id=@js_stack AND ids IS NOT NULL AND hi<LENGTH(ids)/11 AND MOD(CRC32(claim_no),@js_parts)=@js_part
),
e AS (
	SELECT kind,name,SUBSTR(ids,lo*11+1,10) AS first,n.i>lo AND SUBSTR(ids,n.i*11+1,10)<=SUBSTR(ids,n.i*11-10,10) AS falls,
		SUBSTR(ids,n.i*11+11,1)<>',' OR NOT HEX(UNHEX(SUBSTR(ids,n.i*11+1,10)))<=>SUBSTR(ids,n.i*11+1,10) AS bad
		FROM s STRAIGHT_JOIN n ON n.i BETWEEN lo AND hi
)
SELECT kind,IF(MAX(bad),0,CAST(CONV(MIN(first),16,10) AS UNSIGNED)) AS entry,CONCAT(name,' has a list that ',
	IF(MAX(bad),'can''t be read','is not in ascending order')) AS text FROM e WHERE bad OR falls GROUP BY kind,name;

-- Each claim belongs to a worker of this stack that has not ended.  It has at most 500 entries.  Its `open` is the
-- number of those without an attempt on record, and is not 0.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<511),
e AS (
	SELECT c.worker_id,c.claim_no,c.lo,c.hi,c.ids,c.open,c.attempt,n.i,IF(c.ids IS NULL,LEAST(c.lo,1099511627775)+n.i,
		CAST(CONV(SUBSTR(c.ids,(LEAST(c.lo,999)+n.i)*11+1,10),16,10) AS UNSIGNED)) AS entry
		FROM claim c LEFT JOIN n ON LEAST(c.lo,1099511627775)+n.i<=c.hi WHERE c.stack_id=@js_stack
),
c AS (
	SELECT e.worker_id,e.claim_no,MIN(e.entry) AS entry,MAX(e.lo) AS lo,MAX(e.hi) AS hi,MAX(e.open) AS open,
		MAX(LENGTH(e.ids)) AS len,SUM(e.i IS NOT NULL AND a.stack_id IS NULL) AS seen
		FROM e LEFT JOIN attempt a ON a.stack_id=@js_stack AND a.entry_id=e.entry AND a.attempt=e.attempt
		GROUP BY e.worker_id,e.claim_no
),
f AS (
	SELECT c.*,CONCAT_WS('; ',IF(w.worker_id IS NULL,'belongs to a worker that does not exist',
		IF(w.stack_id<>@js_stack,'belongs to a worker of another stack',
		IF(w.ended IS NOT NULL,'belongs to a worker that has ended',NULL))),
		CASE WHEN c.hi<c.lo THEN 'ends before it begins'
		WHEN MOD(c.len,11)<>0 OR c.len>5500 OR c.hi>=c.len/11 THEN 'has a list that is not as long as it says'
		WHEN c.hi-c.lo>=500 THEN 'has more than 500 entries'
		WHEN c.open=0 THEN 'has no unfinished entry left, and should have been deleted'
		WHEN c.open<>c.seen THEN CONCAT('says ',c.open,' unfinished entries, but there are ',c.seen) END) AS fault
		FROM c LEFT JOIN worker w ON w.worker_id=c.worker_id
)
SELECT 'claim' AS kind,IF(hi<lo,0,entry) AS entry,CONCAT('claim ',claim_no,' of worker ',worker_id,
	', which begins with this entry, ',fault) AS text FROM f WHERE fault<>'';

-- No entry has a number above the last one that the stack assigned.
SELECT 'stray' AS kind,e.entry_id AS entry,CONCAT('its number is above the last one that the stack assigned, ',s.tail) AS text
	FROM stack s STRAIGHT_JOIN entry e ON e.stack_id=s.stack_id AND e.entry_id>s.tail WHERE s.stack_id=@js_stack;

-- If names are unique: each entry up to `named` has a row in `name` with the hash of its datapath.
SELECT @js_unnamed+COALESCE(SUM(n.hash IS NULL AND e.entry_id<=s.named),0),@js_matched+COALESCE(SUM(n.entry_id<=>e.entry_id),0)
	INTO @js_unnamed,@js_matched FROM stack s STRAIGHT_JOIN entry e ON e.stack_id=s.stack_id
	LEFT JOIN name n ON n.stack_id=@js_stack AND n.hash=UNHEX(SHA2(e.datapath,256)) WHERE s.stack_id=@js_stack
	AND s.named IS NOT NULL AND e.entry_id BETWEEN @js_part_lo AND @js_part_hi;
SELECT 'name' AS kind,e.entry_id AS entry,'the table `name` has no row for its datapath' AS text
	FROM stack s STRAIGHT_JOIN entry e ON e.stack_id=s.stack_id
	LEFT JOIN name n ON n.stack_id=@js_stack AND n.hash=UNHEX(SHA2(e.datapath,256)) WHERE s.stack_id=@js_stack
	AND @js_unnamed>0 AND e.entry_id<=s.named AND e.entry_id BETWEEN @js_part_lo AND @js_part_hi AND n.hash IS NULL;

-- Each row in `name` has the hash of its entry's datapath, and no more of them have no entry than were pruned.
SELECT @js_names+COUNT(*) INTO @js_names FROM name
	WHERE stack_id=@js_stack AND hash BETWEEN @js_part_hash_lo AND @js_part_hash_hi;
SELECT 'name' AS kind,n.entry_id AS entry,IF(e.entry_id IS NULL,CONCAT('there is no such entry, but the table `name` has a row for ',
	'it; ',CAST(@js_names-@js_matched AS SIGNED),' of its rows fit no entry, but ',s.pruned,' entries were pruned'),
	'its row in the table `name` has the hash of another datapath') AS text
	FROM stack s STRAIGHT_JOIN name n ON n.stack_id=s.stack_id LEFT JOIN entry e ON e.stack_id=@js_stack AND e.entry_id=n.entry_id
	WHERE @js_names<>@js_matched AND s.stack_id=@js_stack AND n.hash BETWEEN @js_part_hash_lo AND @js_part_hash_hi
	AND IF(e.entry_id IS NULL,@js_names-@js_matched>s.pruned,n.hash<>UNHEX(SHA2(e.datapath,256)));

-- The counters say what the rows do, and a stack with a limit of running entries has the row that enforces it.
SELECT 'counter' AS kind,0 AS entry,CONCAT(what,': ',said,' by the counters, ',counted,' by the rows') AS text FROM
	(SELECT 'pushed' AS what,CAST(pushed AS DECIMAL(30)) AS said,@js_entries+CAST(pruned AS DECIMAL(30)) AS counted
		FROM stack WHERE stack_id=@js_stack
	UNION ALL SELECT 'done',done+COALESCE((SELECT SUM(w.done) FROM worker w WHERE w.stack_id=@js_stack
		AND w.ended IS NULL),0),CAST(@js_done AS DECIMAL(30)) FROM stack WHERE stack_id=@js_stack
	UNION ALL SELECT 'dead',dead+COALESCE((SELECT SUM(w.dead) FROM worker w WHERE w.stack_id=@js_stack
		AND w.ended IS NULL),0),CAST(@js_dead AS DECIMAL(30)) FROM stack WHERE stack_id=@js_stack
	UNION ALL SELECT 'moved',moved,CAST(@js_moved AS DECIMAL(30)) FROM stack WHERE stack_id=@js_stack
	UNION ALL SELECT 'cancelled',cancelled,CAST(@js_cancelled AS DECIMAL(30)) FROM stack WHERE stack_id=@js_stack
	UNION ALL SELECT 'named',named,IF(named>tail,tail,named) FROM stack
		WHERE stack_id=@js_stack AND named IS NOT NULL) c WHERE said<>counted
	UNION ALL
	SELECT 'counter',0,'it has a limit of running entries, but no row in the table `running_limit`: the limit is not enforced' FROM stack s
		WHERE s.stack_id=@js_stack AND s.limited>0 AND NOT EXISTS(SELECT 1 FROM running_limit g WHERE g.stack_id=s.stack_id);

-- For all stacks at once: no table has rows of a stack that does not exist.  DISTINCT is fast here, because it skips
-- along an index from one stack to the next.
SELECT 'stray' AS kind,0 AS entry,CONCAT('the table ',t.t,' has rows of stack number ',t.stack_id,', which does not exist') AS text FROM
	(SELECT 'entry' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM entry) t
	UNION ALL SELECT 'span' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM span) t
	UNION ALL SELECT 'claim' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM claim) t
	UNION ALL SELECT 'attempt' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM attempt) t
	UNION ALL SELECT 'set_aside' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM set_aside) t
	UNION ALL SELECT 'name' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM name) t
	UNION ALL SELECT 'path' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM path) t
	UNION ALL SELECT 'worker' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM worker) t
	UNION ALL SELECT 'push' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM push) t
	UNION ALL SELECT 'push_range' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM push_range) t
	UNION ALL SELECT 'running_limit' AS t,stack_id FROM (SELECT DISTINCT stack_id FROM running_limit) t) t
	LEFT JOIN stack s ON s.stack_id=t.stack_id WHERE s.stack_id IS NULL;
