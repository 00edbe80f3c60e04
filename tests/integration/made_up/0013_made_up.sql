-- SPDX-License-Identifier: BSD-2-Clause
--
-- A migration for tests: from a version 12 that has never been (before.sql makes it) to version 13.  This is how one is
-- written.  ADD COLUMN IF NOT EXISTS is MariaDB's alone.  So each ALTER is a text, which is 'DO 0' where its column is
-- there already; an ALTER is done wholly or not at all.

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'max_running') > 0, 'DO 0',
    'ALTER TABLE stack
        ADD COLUMN max_running BIGINT UNSIGNED NULL,
        ADD COLUMN max_failures BIGINT UNSIGNED NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'major_faults') > 0, 'DO 0',
    'ALTER TABLE attempt
        ADD COLUMN major_faults BIGINT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'running_limit' AND column_name = 'running') = 0, 'DO 0',
    'ALTER TABLE running_limit DROP COLUMN running');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
