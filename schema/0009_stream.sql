-- SPDX-License-Identifier: BSD-2-Clause
--
-- The stream of attempts (`jobstack export --follow`).  Each attempt is in one list: first in worker.closed or in
-- `closed`, later in a numbered row of `stream`.

-- Attempts that workers have closed and no reader has numbered yet.  seq is that of the worker's step that wrote the
-- row.
CREATE TABLE IF NOT EXISTS closed (
    stack_id    BIGINT UNSIGNED NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    seq         BIGINT UNSIGNED NOT NULL,
    list        MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (stack_id, worker_id, seq)
) ENGINE=InnoDB;

-- Numbered lists of attempts, without gaps.
CREATE TABLE IF NOT EXISTS stream (
    stack_id    BIGINT UNSIGNED NOT NULL,
    no          BIGINT UNSIGNED NOT NULL,
    list        MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (stack_id, no)
) ENGINE=InnoDB;

-- The newest attempts that the worker has closed: entry:attempt or first-last:attempt, each followed by a comma.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'closed') > 0, 'DO 0',
    'ALTER TABLE worker
        ADD COLUMN closed VARBINARY(400) NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- 0: recorded before there was a stream.  There is no default, so a program of an earlier version, which would not add
-- its attempts to the stream, gets an error.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'listed') > 0, 'DO 0',
    'ALTER TABLE attempt
        ADD COLUMN listed TINYINT UNSIGNED NOT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- Entries above this number have no attempt with listed = 0.  It is set after `listed` was added, since from then on no
-- such attempt is recorded.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'history') > 0, 'DO 0',
    'ALTER TABLE stack
        ADD COLUMN history BIGINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
UPDATE stack SET history = tail WHERE history = 0;
