-- SPDX-License-Identifier: BSD-2-Clause
--
-- The stream of attempts (`jobstack export --follow`): each attempt is named once, in worker.closed, then in `closed`,
-- then in a numbered row of `stream`.

-- What workers have closed and nobody has numbered yet; seq is the worker's of the step that wrote it.
CREATE TABLE IF NOT EXISTS closed (
    stack_id    BIGINT UNSIGNED NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    seq         BIGINT UNSIGNED NOT NULL,
    list        MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (stack_id, worker_id, seq)
) ENGINE=InnoDB;

-- What has been numbered, without gaps.
CREATE TABLE IF NOT EXISTS stream (
    stack_id    BIGINT UNSIGNED NOT NULL,
    no          BIGINT UNSIGNED NOT NULL,
    list        MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (stack_id, no)
) ENGINE=InnoDB;

-- The last attempts that the worker has closed: entry:attempt, or first-last:attempt, each with a comma behind it.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'closed') > 0, 'DO 0',
    'ALTER TABLE worker
        ADD COLUMN closed VARBINARY(400) NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- 0: recorded before there was a stream.  There is no default, so a program of an earlier version, which would not name
-- an attempt in the stream, can't record one any more.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'listed') > 0, 'DO 0',
    'ALTER TABLE attempt
        ADD COLUMN listed TINYINT UNSIGNED NOT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- Entries above it have no such attempt.  It comes after the column above, behind which no such attempt is added.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'history') > 0, 'DO 0',
    'ALTER TABLE stack
        ADD COLUMN history BIGINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
UPDATE stack SET history = tail WHERE history = 0;
