-- SPDX-License-Identifier: BSD-2-Clause
--
-- When the newest attempt of each list ended, so that `report --since` reads only the lists with new attempts.

-- Seconds since 1970: no attempt in the column `closed` ended after this second.  4294967295: not known.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'newest') > 0, 'DO 0',
    'ALTER TABLE worker ADD COLUMN newest BIGINT UNSIGNED NOT NULL DEFAULT 4294967295');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- The same for the row's list.  The indexes find the lists with attempts that ended since some time.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'closed' AND column_name = 'newest') > 0, 'DO 0',
    'ALTER TABLE closed ADD COLUMN newest BIGINT UNSIGNED NOT NULL DEFAULT 4294967295,
        ADD KEY closed_newest (stack_id, newest)');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stream' AND column_name = 'newest') > 0, 'DO 0',
    'ALTER TABLE stream ADD COLUMN newest BIGINT UNSIGNED NOT NULL DEFAULT 4294967295,
        ADD KEY stream_newest (stack_id, newest)');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
