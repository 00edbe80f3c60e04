-- SPDX-License-Identifier: BSD-2-Clause
--
-- The whole database of jobstack: each table with its purpose, each index with the query that needs it.  docs/SCHEMA.md
-- says what can't be said here: the ledger's equation, what outcomes do, and useful questions.
--
-- An entry's life.  At every commit an entry is in exactly one of these places:
--
--     push --atomic                       push
--          |                                |
--          v         push is complete       v              pop
--      [held] -----------------------> [ready] -----------------------> [running]
--      span, class 2             span, class 0                            claim
--                                  ^  ^  ^                              |  |  |  |
--                                  |  |  +-- unstarted, interrupted, ---+  |  |  |
--                                  |  |      or lost                       |  |  |
--                                  |  +-- due -- [waiting] <-- failed -----+  |  |
--                                  |          span, class 1                   |  |
--                                  +-- requeue -- [dead] <-- too often -------+  |
--                                  |            set_aside                        |
--                                  +-- requeue -- [done] <-- exit 0 -------------+
--                                                 attempt, final=1
--
--     [ready], [waiting] or [dead] -- cancel --> [cancelled]: set_aside, state 1 -- requeue --> [ready]
--     [dead] -- requeue --to --> [moved]: set_aside, state 2; it is a new entry of the other stack
--     [done] -- prune --> nowhere: only stack.pruned and name still know it
--
-- Rules: a statement ends with a semicolon at the end of a line, and can be run again after it was cut short (IF NOT
-- EXISTS, OR REPLACE), because DDL is not transactional; the program itself writes the version's row after the last
-- one.  What MySQL 8.0 and MariaDB 10.5 both take, nothing else.  Times are UTC in DATETIME(6): a TIMESTAMP would change
-- with the session's time zone.  No foreign keys: their shared lock on `stack` would make every worker wait for pushes.
-- Names and paths are VARBINARY: bytes, with no collation.

CREATE TABLE IF NOT EXISTS jobstack_version (
    version     INT UNSIGNED    NOT NULL,
    installed   DATETIME(6)     NOT NULL,
    PRIMARY KEY (version)
) ENGINE=InnoDB;

-- A named list of entries.
-- stack_name: every command starts from a name.  stack_origin: for `jobstack run` without -s, one stack for a directory
-- and a command, also when two make it at the same moment.
CREATE TABLE IF NOT EXISTS stack (
    stack_id    BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    name        VARBINARY(128)  NOT NULL,
    state       TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- 0 open, 1 paused, 2 cancelled, 3 dropping
    popping_order TINYINT UNSIGNED NOT NULL DEFAULT 0,  -- 0 first in, first out, nearly; 1 exactly so, whatever that
                                                        -- costs; 2 last in, first out, exactly and fixed at birth
    cwd         VARBINARY(4096) NULL,                   -- where relative datapaths belong; NULL: there are none
    note        VARBINARY(255)  NULL,                   -- why it is paused, in words
    created     DATETIME(6)     NOT NULL,
    created_by  VARBINARY(255)  NULL,                   -- the OS user who made it, as that program says
    account     VARBINARY(255)  NULL,                   -- the server's account of the connection that made it
    origin      BINARY(32)      NULL,                   -- SHA-256 of the directory and the command of a `jobstack run`
    -- pushed = ready + waiting + held + running + done + dead + cancelled + moved + pruned.  done and dead are signed
    -- adjustments: living workers count in their own rows, which are added here when they end; a requeue subtracts
    tail        BIGINT UNSIGNED NOT NULL DEFAULT 0,     -- the last entry number given out
    pushed      BIGINT UNSIGNED NOT NULL DEFAULT 0,
    done        BIGINT          NOT NULL DEFAULT 0,
    dead        BIGINT          NOT NULL DEFAULT 0,
    cancelled   BIGINT          NOT NULL DEFAULT 0,
    moved       BIGINT UNSIGNED NOT NULL DEFAULT 0,
    pruned      BIGINT UNSIGNED NOT NULL DEFAULT 0,
    max_attempts INT UNSIGNED   NOT NULL DEFAULT 3,
    max_losses  INT UNSIGNED    NOT NULL DEFAULT 5,
    retry_delay_us BIGINT UNSIGNED NOT NULL DEFAULT 5000000,
    max_running BIGINT UNSIGNED NULL,                   -- NULL: no limit
    max_starts  BIGINT UNSIGNED NULL,                   -- workers start at most so many entries in any starts_us; NULL: no limit
    starts_us   BIGINT UNSIGNED NULL,                   -- in microseconds
    limited     TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- 1 if max_running is set, plus 2 if max_starts is: how a pop has to be
    max_failures BIGINT UNSIGNED NULL,                  -- with so many dead entries the stack is paused; NULL: never
    named       BIGINT UNSIGNED NULL,                   -- entries up to this have their row in name; NULL: no push was unique
    indexed     BIGINT UNSIGNED NOT NULL DEFAULT 0,     -- entries up to this have their row in path
    locked      BIGINT UNSIGNED NOT NULL DEFAULT 0,     -- counts its locks on a cluster whose servers all take writes: what
                                                        -- two nodes settle there is who changes a row.  Elsewhere it stays 0
    PRIMARY KEY (stack_id),
    UNIQUE KEY stack_name (name),
    UNIQUE KEY stack_origin (origin)
) ENGINE=InnoDB;

-- A row for each push.  (token, seq) settles a chunk whose COMMIT was lost.  push_of_stack: "is anybody still pushing?"
CREATE TABLE IF NOT EXISTS push (
    push_id     BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    token       BINARY(16)      NOT NULL,
    stack_id    BIGINT UNSIGNED NOT NULL,
    seq         BIGINT UNSIGNED NOT NULL DEFAULT 0,
    pushed      BIGINT UNSIGNED NOT NULL DEFAULT 0,
    atomic      TINYINT UNSIGNED NOT NULL DEFAULT 0,
    started     DATETIME(6)     NOT NULL,
    beat        DATETIME(6)     NOT NULL,
    ended       DATETIME(6)     NULL,
    user        VARBINARY(255)  NULL,                   -- as created_by and account of stack
    account     VARBINARY(255)  NULL,
    PRIMARY KEY (push_id),
    UNIQUE KEY push_token (token),
    KEY push_of_stack (stack_id, ended)
) ENGINE=InnoDB;

-- Which entries a push made: a row for each chunk.  range_of_push: what of a push is left, for prune.
CREATE TABLE IF NOT EXISTS push_range (
    stack_id    BIGINT UNSIGNED NOT NULL,
    lo          BIGINT UNSIGNED NOT NULL,
    hi          BIGINT UNSIGNED NOT NULL,
    push_id     BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, lo),
    KEY range_of_push (push_id)
) ENGINE=InnoDB;

-- Append-only, never updated.  A datapath may be a command line of 32 KiB.
CREATE TABLE IF NOT EXISTS entry (
    stack_id    BIGINT UNSIGNED NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    datapath    VARBINARY(32768) NOT NULL,
    PRIMARY KEY (stack_id, entry_id)
) ENGINE=InnoDB;

-- Only for stacks with a --unique push: the primary key is what makes a datapath unique.  hash is SHA-256 of the datapath.
CREATE TABLE IF NOT EXISTS name (
    stack_id    BIGINT UNSIGNED NOT NULL,
    hash        BINARY(32)      NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, hash)
) ENGINE=InnoDB;

-- Finds the entries of a datapath, for `jobstack history`: hash is the first eight bytes of the SHA-256 of its absolute name.
CREATE TABLE IF NOT EXISTS path (
    stack_id    BIGINT UNSIGNED NOT NULL,
    hash        BINARY(8)       NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, hash, entry_id)
) ENGINE=InnoDB;

-- What nobody has claimed, as intervals of entry numbers, or as lists of them.  A list takes 11 bytes per entry in ids: ten
-- upper-case hexadecimal digits and a comma, ascending; lo and hi then count places in it from 0.  pos is the highest number of
-- the span (LIFO: minus the lowest), which a pop never changes, so the primary key gives the order without a sort and a pop
-- rewrites one small row in place.  span_due: which waiting spans are due.
CREATE TABLE IF NOT EXISTS span (
    stack_id    BIGINT UNSIGNED NOT NULL,
    class       TINYINT UNSIGNED NOT NULL,              -- 0 ready, 1 waiting (for due), 2 held (by an --atomic push)
    `rank`      INT             NOT NULL,               -- minus the priority: smaller goes first
    pos         BIGINT          NOT NULL,
    lo          BIGINT UNSIGNED NOT NULL,
    hi          BIGINT UNSIGNED NOT NULL,
    ids         VARBINARY(5500) NULL,
    attempt     INT UNSIGNED    NOT NULL,               -- the number the next attempt will have
    fails       INT UNSIGNED    NOT NULL,               -- attempts that counted as failed so far
    losses      INT UNSIGNED    NOT NULL,
    due         DATETIME(6)     NULL,
    push_id     BIGINT UNSIGNED NULL,
    shard       TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- 1: a piece that a pop cut off a long span, so that pops under a
                                                        -- binary log do not all wait for one row
    PRIMARY KEY (stack_id, class, `rank`, pos),
    KEY span_due (stack_id, class, due)
) ENGINE=InnoDB;

-- A row for each worker, and for each pop by a script.  (token, seq, ended) is the fence: every step starts with a
-- compare-and-set on it.
-- worker_of_stack: who is alive (ended IS NULL), for status and recovery.
CREATE TABLE IF NOT EXISTS worker (
    worker_id   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    token       BINARY(16)      NOT NULL,
    stack_id    BIGINT UNSIGNED NOT NULL,
    seq         BIGINT UNSIGNED NOT NULL DEFAULT 0,
    kind        TINYINT UNSIGNED NOT NULL,              -- 0 jobstack-worker, 1 a script's pop
    started     DATETIME(6)     NOT NULL,
    beat        DATETIME(6)     NOT NULL,
    lease_us    BIGINT UNSIGNED NOT NULL,
    ended       DATETIME(6)     NULL,
    cause       TINYINT UNSIGNED NULL,                  -- why it ended, or may be dead: enum jobstack_cause
    reason      VARBINARY(255)  NULL,                   -- the same for people; while it lives, behind the seq at which that held
    done        BIGINT UNSIGNED NOT NULL DEFAULT 0,
    dead        BIGINT UNSIGNED NOT NULL DEFAULT 0,
    slots       INT UNSIGNED    NOT NULL,
    running     VARBINARY(16000) NULL,                  -- what runs now: entry:attempt:start, in decimal, with commas
    kills       VARBINARY(4000) NULL,                   -- what it is to kill: ",entry:attempt:killed by USER", one after the other
    -- the newest attempts that it has closed, entry:attempt or first-last:attempt, each followed by a comma: see stream
    -- none of these ended before the second `oldest` (since 1970), and none of the worker's after `newest`
    closed      VARBINARY(400)  NULL,
    oldest      INT UNSIGNED    NOT NULL DEFAULT 0,
    newest      INT UNSIGNED    NOT NULL DEFAULT 0,
    node        VARBINARY(255)  NULL,                   -- Slurm's name of it, or the host's
    slurm_account VARBINARY(255) NULL,
    user        VARBINARY(255)  NULL,
    -- Who it is, written once: host, boot, pid, pid_start (clock ticks since boot), cluster, job, job_start_us (with the job's
    -- number its identity, since numbers come back), array_job, array_task, step, qos, partition, memory_mib (of the job on
    -- this node), nodes (of the job), cwd, argv (NUL-separated), log (its packed output), platform (a fact, as in attempt).
    -- What is not known is left out.  A text that is not UTF-8 is {"hex": "..."}.
    identity    JSON            NULL,
    PRIMARY KEY (worker_id),
    UNIQUE KEY worker_token (token),
    KEY worker_of_stack (stack_id, ended)
) ENGINE=InnoDB;

-- A row for each stack that has, or had, max_running or max_starts.  Whoever pops there locks it first, between worker and
-- claim in the lock order.  For max_running it is nothing but a lock: what is open is counted in claims, since a counter of
-- its own could come to differ from them.  For max_starts it says when the next entry may be claimed, and how long after a
-- claim that is.
CREATE TABLE IF NOT EXISTS running_limit (
    stack_id    BIGINT UNSIGNED NOT NULL,
    locked      BIGINT UNSIGNED NOT NULL DEFAULT 0,     -- as in stack
    next_start  DATETIME(6)     NOT NULL DEFAULT '2000-01-01 00:00:00',
    interval_us BIGINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (stack_id)
) ENGINE=InnoDB;

-- A slice of a span in a worker's hands; claim_no is the worker's seq of the step that took it.  open counts the entries
-- that are not closed; at 0 the row goes.
CREATE TABLE IF NOT EXISTS claim (
    stack_id    BIGINT UNSIGNED NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    claim_no    BIGINT UNSIGNED NOT NULL,
    lo          BIGINT UNSIGNED NOT NULL,
    hi          BIGINT UNSIGNED NOT NULL,
    ids         VARBINARY(5500) NULL,
    open        INT UNSIGNED    NOT NULL,
    attempt     INT UNSIGNED    NOT NULL,
    fails       INT UNSIGNED    NOT NULL,
    losses      INT UNSIGNED    NOT NULL,
    `rank`      INT             NOT NULL,
    claimed     DATETIME(6)     NOT NULL,
    PRIMARY KEY (stack_id, worker_id, claim_no)
) ENGINE=InnoDB;

-- A row for each finished attempt; the primary key is the backstop of "one outcome per attempt".  What is NULL is not known.
CREATE TABLE IF NOT EXISTS attempt (
    stack_id    BIGINT UNSIGNED NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    attempt     INT UNSIGNED    NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    outcome     TINYINT UNSIGNED NOT NULL,              -- 0 done, 1 failed, 2 lost, 3 interrupted
    final       TINYINT UNSIGNED NOT NULL,              -- 1: this done ended the entry; a requeue makes it 0, once
    cause       TINYINT UNSIGNED NULL,                  -- why it was not done: enum jobstack_cause
    exit_code   INT             NULL,
    signo       INT             NULL,
    reason      VARBINARY(255)  NULL,                   -- the same for people, and more; no program reads it
    started     DATETIME(6)     NULL,
    ended       DATETIME(6)     NOT NULL,
    user_us     BIGINT          NULL,
    system_us   BIGINT          NULL,
    maxrss_kib  BIGINT          NULL,                   -- of its largest process
    peak_kib    BIGINT          NULL,                   -- the most memory that its processes had at once
    major_faults BIGINT         NULL,                   -- how often it waited for a page of memory that was on the disk
    read_bytes  BIGINT          NULL,
    write_bytes BIGINT          NULL,
    storage_read_bytes BIGINT   NULL,                   -- what storage had to do for it
    storage_write_bytes BIGINT  NULL,
    io_wait_us  BIGINT          NULL,                   -- how long it waited for storage
    program     BIGINT          NULL,                   -- rows of fact: the version of its program,
    mount       BIGINT          NULL,                   -- the file system of its datapath,
    packages    BIGINT          NULL,                   -- the Python packages that it imported
    -- stdout is log_out bytes at log_at of the file log (NULL: the worker's log); log_err bytes of stderr follow, or are at
    -- err_at of err_log (NULL: the worker's log).  err_tail: the last 4 KiB of what a failed command wrote to stderr
    log         VARBINARY(4096) NULL,
    log_at      BIGINT          NULL,
    log_out     BIGINT          NULL,
    log_err     BIGINT          NULL,
    err_log     VARBINARY(4096) NULL,
    err_at      BIGINT          NULL,
    err_tail    VARBINARY(4096) NULL,
    PRIMARY KEY (stack_id, entry_id, attempt)
) ENGINE=InnoDB;

-- Entries that nobody will run before a person has decided: dead; cancelled, and reason is the note of who gave it up; moved to
-- to_stack, and the row stays for whoever asks where.
CREATE TABLE IF NOT EXISTS set_aside (
    stack_id    BIGINT UNSIGNED NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    attempt     INT UNSIGNED    NOT NULL,               -- the last one it had
    `rank`      INT             NOT NULL,
    reason      VARBINARY(255)  NULL,
    to_stack    BIGINT UNSIGNED NULL,
    to_entry    BIGINT UNSIGNED NULL,
    state       TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- 0 dead, 1 cancelled, 2 moved
    PRIMARY KEY (stack_id, entry_id)
) ENGINE=InnoDB;

-- What many attempts or workers have in common, once per stack: kind 0 a version of the program, 1 a mounted file system,
-- 2 a worker's platform, 3 a list of Python packages, 4 what a user started last, 5 a bad node.
CREATE TABLE IF NOT EXISTS fact (
    stack_id    BIGINT UNSIGNED NOT NULL,
    kind        TINYINT UNSIGNED NOT NULL,
    fact        BIGINT          NOT NULL,
    seen        DATETIME(6)     NOT NULL,
    text        BLOB            NOT NULL,
    PRIMARY KEY (stack_id, kind, fact)
) ENGINE=InnoDB;

-- Questions to Slurm that many workers and commands have, and the answers for all of them.  Who may ask now is settled by a
-- compare-and-set of `asked`.  question is made of the question by SHA-256; text is the token of who asked last (32 digits),
-- the question, a line break, and the answer, if there is one yet.  A - before an answer says why there is none.
CREATE TABLE IF NOT EXISTS slurm_answer (
    question    BIGINT          NOT NULL,
    asked       DATETIME(6)     NOT NULL,
    text        BLOB            NOT NULL,
    PRIMARY KEY (question)
) ENGINE=InnoDB;

-- The stream of attempts (`jobstack export --follow`).  Each attempt is in exactly one list: at first in worker.closed or
-- here, where no reader has numbered it yet; later in a numbered row of `stream`.  seq is that of the worker's step that
-- wrote the row.  oldest and newest: the seconds (since 1970) in which its oldest and newest attempts ended.
-- closed_newest: what ended since some time, for `report --since`.  No index on oldest: workers write this table.
CREATE TABLE IF NOT EXISTS closed (
    stack_id    BIGINT UNSIGNED NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    seq         BIGINT UNSIGNED NOT NULL,
    oldest      INT UNSIGNED    NOT NULL,
    newest      INT UNSIGNED    NOT NULL,
    list        MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (stack_id, worker_id, seq),
    KEY closed_newest (stack_id, newest)
) ENGINE=InnoDB;

-- Numbered lists of attempts, without gaps.  stream_newest: as closed_newest.  stream_oldest: what ended before some time,
-- for prune.
CREATE TABLE IF NOT EXISTS stream (
    stack_id    BIGINT UNSIGNED NOT NULL,
    no          BIGINT UNSIGNED NOT NULL,
    oldest      INT UNSIGNED    NOT NULL,
    newest      INT UNSIGNED    NOT NULL,
    list        MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (stack_id, no),
    KEY stream_newest (stack_id, newest),
    KEY stream_oldest (stack_id, oldest)
) ENGINE=InnoDB;

-- For people who know the table JobManagement: a row for each entry, with its last attempt; node_start without node_end: it runs.
-- Every column is an expression, so the view can't be written to.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW JobManagement AS
SELECT e.stack_id * 10000000000 + e.entry_id                    AS task_id,
       e.entry_id + 0                                           AS entry_id,
       CAST(COALESCE(cw.node, aw.node) AS CHAR) AS node_id,
       COALESCE(c.claimed, a.started)                           AS node_start,
       IF(c.claim_no IS NULL, a.ended, NULL)                    AS node_end,
       CONCAT(e.datapath)                                       AS datapath,
       CAST(s.name AS CHAR)                                     AS task_name
  FROM entry e
  JOIN stack s ON s.stack_id = e.stack_id
  LEFT JOIN attempt a ON a.stack_id = e.stack_id AND a.entry_id = e.entry_id
        AND NOT EXISTS (SELECT 1 FROM attempt b WHERE b.stack_id = a.stack_id AND b.entry_id = a.entry_id AND b.attempt > a.attempt)
  LEFT JOIN worker aw ON aw.worker_id = a.worker_id
  LEFT JOIN claim c ON c.stack_id = e.stack_id
        AND (e.entry_id BETWEEN c.lo AND c.hi AND c.ids IS NULL
             OR LOCATE(CONCAT(LPAD(HEX(e.entry_id), 10, '0'), ','), c.ids) > 0)
        AND NOT EXISTS (SELECT 1 FROM attempt d WHERE d.stack_id = e.stack_id AND d.entry_id = e.entry_id AND d.attempt = c.attempt)
  LEFT JOIN worker cw ON cw.worker_id = c.worker_id;
