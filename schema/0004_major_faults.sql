-- SPDX-License-Identifier: BSD-2-Clause
--
-- How often a command had to wait for the disk because a page of memory was not there.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'major_faults') > 0, 'DO 0',
    'ALTER TABLE attempt ADD COLUMN major_faults BIGINT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
