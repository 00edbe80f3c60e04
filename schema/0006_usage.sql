-- SPDX-License-Identifier: BSD-2-Clause
--
-- What storage had to do for an attempt; the most memory that its processes had at once; how long they waited for storage.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'peak_kib') > 0, 'DO 0',
    'ALTER TABLE attempt
        ADD COLUMN storage_read_bytes BIGINT NULL,
        ADD COLUMN storage_write_bytes BIGINT NULL,
        ADD COLUMN peak_kib BIGINT NULL,
        ADD COLUMN io_wait_us BIGINT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
