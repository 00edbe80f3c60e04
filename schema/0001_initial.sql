-- SPDX-License-Identifier: BSD-2-Clause
--
-- The whole queue.  docs/SCHEMA.md explains it with a picture; here stands why each index exists.
--
-- Rules of this folder: a migration is NNNN_name.sql; a statement ends with a semicolon at the end of a line; each can be
-- run again after it was cut short (IF NOT EXISTS, OR REPLACE), because DDL is not transactional; the program itself
-- writes the version row after the last statement.  What MySQL 8.0 and MariaDB 10.5 both take, nothing else.
-- Times are UTC in DATETIME(6): a TIMESTAMP would change with the session's time zone.  No foreign keys: their shared lock
-- on `stack` would make every worker wait for pushes.  Names and paths are VARBINARY: bytes, with no collation.

CREATE TABLE IF NOT EXISTS jobstack_version (
    version     INT UNSIGNED    NOT NULL,
    installed   DATETIME(6)     NOT NULL,
    program     VARBINARY(32)   NOT NULL,
    PRIMARY KEY (version)
) ENGINE=InnoDB;

-- A named list of entries.  done and dead are signed adjustments: workers that live count in their own rows and are folded
-- in here when they end, a requeue takes off.  UNIQUE (name): every command starts from a name.
CREATE TABLE IF NOT EXISTS stack (
    stack_id    BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    name        VARBINARY(128)  NOT NULL,
    state       TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- 0 open, 1 paused, 2 cancelled, 3 dropping
    lifo        TINYINT UNSIGNED NOT NULL DEFAULT 0,    -- fixed at birth
    tail        BIGINT UNSIGNED NOT NULL DEFAULT 0,     -- the last entry number given out
    pushed      BIGINT UNSIGNED NOT NULL DEFAULT 0,
    named       BIGINT UNSIGNED NULL,                   -- entries up to this have their row in name; NULL: no push was unique
    done        BIGINT          NOT NULL DEFAULT 0,
    dead        BIGINT          NOT NULL DEFAULT 0,
    cwd         VARBINARY(4096) NULL,                   -- where relative datapaths belong; NULL: there are none
    created     DATETIME(6)     NOT NULL,
    max_attempts INT UNSIGNED   NOT NULL DEFAULT 3,
    max_losses  INT UNSIGNED    NOT NULL DEFAULT 5,
    retry_delay_us BIGINT UNSIGNED NOT NULL DEFAULT 5000000,
    note        VARBINARY(255)  NULL,                   -- why it is paused, in words
    PRIMARY KEY (stack_id),
    UNIQUE KEY stack_name (name)
) ENGINE=InnoDB;

-- A row a pusher.  (token, seq) settles a chunk whose COMMIT was lost.  push_of_stack: "is anybody still pushing?"
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
    PRIMARY KEY (push_id),
    UNIQUE KEY push_token (token),
    KEY push_of_stack (stack_id, ended)
) ENGINE=InnoDB;

-- Only for stacks with a --unique push: the primary key is what makes a datapath unique.  hash is SHA-256 of the datapath.
CREATE TABLE IF NOT EXISTS name (
    stack_id    BIGINT UNSIGNED NOT NULL,
    hash        BINARY(32)      NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, hash)
) ENGINE=InnoDB;

-- Append-only, never updated.
CREATE TABLE IF NOT EXISTS entry (
    stack_id    BIGINT UNSIGNED NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    datapath    VARBINARY(4096) NOT NULL,
    PRIMARY KEY (stack_id, entry_id)
) ENGINE=InnoDB;

-- What nobody has claimed, as intervals of entry numbers, or as lists of them.  A list is 11 bytes an entry in ids: ten
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
    PRIMARY KEY (stack_id, class, `rank`, pos),
    KEY span_due (stack_id, class, due)
) ENGINE=InnoDB;

-- A row a worker, or a pop by a script.  (token, seq, ended) is the fence: every step starts with a compare-and-set on it.
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
    reason      VARBINARY(255)  NULL,                   -- why it ended
    done        BIGINT UNSIGNED NOT NULL DEFAULT 0,
    dead        BIGINT UNSIGNED NOT NULL DEFAULT 0,
    slots       INT UNSIGNED    NOT NULL,
    running     VARBINARY(16000) NULL,                  -- what runs now: entry:attempt:start, in decimal, with commas
    host        VARBINARY(255)  NULL,
    boot        VARBINARY(64)   NULL,
    node        VARBINARY(255)  NULL,
    pid         BIGINT          NULL,
    pid_start   BIGINT          NULL,                   -- clock ticks since boot
    slurm_cluster VARBINARY(255) NULL,
    slurm_job   VARBINARY(32)   NULL,
    slurm_array_job VARBINARY(32) NULL,
    slurm_array_task VARBINARY(32) NULL,
    slurm_step  VARBINARY(32)   NULL,
    slurm_start DATETIME(6)     NULL,                   -- with the job's number its identity: numbers come back
    slurm_account VARBINARY(255) NULL,
    slurm_qos   VARBINARY(255)  NULL,
    slurm_partition VARBINARY(255) NULL,
    user        VARBINARY(255)  NULL,
    cwd         VARBINARY(4096) NULL,
    argv        BLOB            NULL,                   -- NUL-separated
    log         VARBINARY(4096) NULL,                   -- its packed output
    PRIMARY KEY (worker_id),
    UNIQUE KEY worker_token (token),
    KEY worker_of_stack (stack_id, ended)
) ENGINE=InnoDB;

-- At most so many entries of a stack run at once; between worker and claim in the lock order.  No row: no limit.
CREATE TABLE IF NOT EXISTS gate (
    stack_id    BIGINT UNSIGNED NOT NULL,
    max_running BIGINT UNSIGNED NOT NULL,
    running     BIGINT UNSIGNED NOT NULL DEFAULT 0,
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

-- A row a finished attempt; the primary key is the backstop of "one outcome an attempt".
CREATE TABLE IF NOT EXISTS attempt (
    stack_id    BIGINT UNSIGNED NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    attempt     INT UNSIGNED    NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    outcome     TINYINT UNSIGNED NOT NULL,              -- 0 done, 1 failed, 2 lost, 3 interrupted
    final       TINYINT UNSIGNED NOT NULL,              -- 1: this done ended the entry; a requeue makes it 0, once
    exit_code   INT             NULL,
    signo       INT             NULL,
    reason      VARBINARY(255)  NULL,
    started     DATETIME(6)     NULL,
    ended       DATETIME(6)     NOT NULL,
    user_us     BIGINT          NULL,
    system_us   BIGINT          NULL,
    maxrss_kib  BIGINT          NULL,
    read_bytes  BIGINT          NULL,
    write_bytes BIGINT          NULL,
    log         VARBINARY(4096) NULL,                   -- NULL: the worker's log
    log_at      BIGINT          NULL,
    log_out     BIGINT          NULL,
    log_err     BIGINT          NULL,
    PRIMARY KEY (stack_id, entry_id, attempt)
) ENGINE=InnoDB;

-- Entries that need a person.
CREATE TABLE IF NOT EXISTS dead (
    stack_id    BIGINT UNSIGNED NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    attempt     INT UNSIGNED    NOT NULL,               -- the last one it had
    `rank`      INT             NOT NULL,
    reason      VARBINARY(255)  NULL,
    PRIMARY KEY (stack_id, entry_id)
) ENGINE=InnoDB;

-- For people who know the table JobManagement: a row an entry with its last attempt; node_start without node_end: it runs.
-- Every column is an expression, so the view can't be written to.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW JobManagement AS
SELECT e.stack_id * 10000000000 + e.entry_id                    AS task_id,
       e.entry_id + 0                                           AS entry_id,
       CAST(COALESCE(cw.node, cw.host, aw.node, aw.host) AS CHAR) AS node_id,
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
