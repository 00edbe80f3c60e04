-- SPDX-License-Identifier: BSD-2-Clause
--
-- When the oldest attempt of each list ended, so that `prune` reads only the lists with old attempts.  Seconds since
-- 1970: no attempt of the list ended before that second.  0: not known, as in the rows of earlier programs.

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'oldest') > 0, 'DO 0',
    'ALTER TABLE worker ADD COLUMN oldest INT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'closed' AND column_name = 'oldest') > 0, 'DO 0',
    'ALTER TABLE closed ADD COLUMN oldest INT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stream' AND column_name = 'oldest') > 0, 'DO 0',
    'ALTER TABLE stream ADD COLUMN oldest INT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- Only `stream` gets an index.  Workers write the other two tables, and an index would slow their steps.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'stream' AND index_name = 'stream_oldest') > 0, 'DO 0',
    'ALTER TABLE stream ADD KEY stream_oldest (stack_id, oldest)');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
