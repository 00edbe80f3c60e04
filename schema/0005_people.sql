-- SPDX-License-Identifier: BSD-2-Clause
--
-- Who made a stack, who pushed which of its entries, entries that a person has given up, and those that a worker is to kill.

-- created_by: the OS user who made the stack, as that program says.  account: the server's account for the connection that made
-- it.  origin: for `jobstack run` without -s, the SHA-256 of the directory and the command: one stack for both, also when two
-- make it at the same moment.  cancelled: dead rows of cancelled entries, counted by whoever cancels and requeues:
-- pushed = ready + waiting + held + running + done + dead + cancelled + moved + pruned.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'created_by') > 0, 'DO 0',
    'ALTER TABLE stack ALGORITHM=INPLACE,
        ADD COLUMN created_by VARBINARY(255) NULL,
        ADD COLUMN account VARBINARY(255) NULL,
        ADD COLUMN origin BINARY(32) NULL,
        ADD COLUMN cancelled BIGINT NOT NULL DEFAULT 0,
        ADD UNIQUE KEY stack_origin (origin)');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- The same of a push.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'push' AND column_name = 'account') > 0, 'DO 0',
    'ALTER TABLE push
        ADD COLUMN user VARBINARY(255) NULL,
        ADD COLUMN account VARBINARY(255) NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- A row a chunk of a push: its entries.  range_of_push: what of a push is left, for prune.
CREATE TABLE IF NOT EXISTS push_range (
    stack_id    BIGINT UNSIGNED NOT NULL,
    lo          BIGINT UNSIGNED NOT NULL,
    hi          BIGINT UNSIGNED NOT NULL,
    push_id     BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, lo),
    KEY range_of_push (push_id)
) ENGINE=InnoDB;

-- 1: the entry is not dead but cancelled, and reason is the note of who did it.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'dead' AND column_name = 'cancelled') > 0, 'DO 0',
    'ALTER TABLE dead ADD COLUMN cancelled TINYINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- What the worker is to kill: ",entry:attempt:killed by USER", one after the other.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'kills') > 0, 'DO 0',
    'ALTER TABLE worker ADD COLUMN kills VARBINARY(4000) NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
