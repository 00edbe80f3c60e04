-- SPDX-License-Identifier: BSD-2-Clause
--
-- Steering: a limit of running entries, a stop when too many are dead, entries that went to another stack, finished ones that
-- were pruned, and the end of what a failed command had to say.
--
-- ADD COLUMN IF NOT EXISTS is MariaDB's alone.  So each ALTER is a text, which is 'DO 0' where its column is there already; an
-- ALTER is done wholly or not at all.  All but the last only add columns that may be NULL or have a default: no table is
-- copied.  Programs of version 1 that still run are not harmed, but know nothing of the limits.

-- max_running: NULL, no limit.  max_failures: with so many dead entries the stack is paused; NULL: never.  moved, pruned: entries
-- that are not here any more: pushed = ready + waiting + held + running + done + dead + moved + pruned.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'max_running') > 0, 'DO 0',
    'ALTER TABLE stack
        ADD COLUMN max_running BIGINT UNSIGNED NULL,
        ADD COLUMN max_failures BIGINT UNSIGNED NULL,
        ADD COLUMN moved BIGINT UNSIGNED NOT NULL DEFAULT 0,
        ADD COLUMN pruned BIGINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- The last 4 KiB of what a failed command wrote to its standard error; and where all of it is, if it is not behind stdout in the
-- file `log`: at err_at in err_log (NULL: the worker's log).
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'err_tail') > 0, 'DO 0',
    'ALTER TABLE attempt
        ADD COLUMN err_tail VARBINARY(4096) NULL,
        ADD COLUMN err_log VARBINARY(4096) NULL,
        ADD COLUMN err_at BIGINT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- Where an entry went by `requeue --to`: then it is not dead any more, but moved, and its row stays for whoever asks.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'dead' AND column_name = 'to_stack') > 0, 'DO 0',
    'ALTER TABLE dead
        ADD COLUMN to_stack BIGINT UNSIGNED NULL,
        ADD COLUMN to_entry BIGINT UNSIGNED NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- A row for each stack with max_running, and nothing but a lock: whoever pops there takes it first, and then counts what is open in
-- claims.  A counter of its own could come to differ from them.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'gate' AND column_name = 'max_running') = 0, 'DO 0',
    'ALTER TABLE gate DROP COLUMN max_running, DROP COLUMN running');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
