-- SPDX-License-Identifier: BSD-2-Clause
--
-- For clusters whose servers all take writes (Galera, Group Replication): a lock there is its node's own, and what two nodes settle
-- is who changes a row.  So who locks one of these rows on a cluster adds one to this.  On a single server it stays 0.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'locked') > 0, 'DO 0',
    'ALTER TABLE stack ADD COLUMN locked BIGINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'gate' AND column_name = 'locked') > 0, 'DO 0',
    'ALTER TABLE gate ADD COLUMN locked BIGINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
