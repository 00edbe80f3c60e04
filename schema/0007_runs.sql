-- SPDX-License-Identifier: BSD-2-Clause
--
-- What explains a run, and where else a file was processed.

-- What many attempts or workers have in common, once per stack: kind 0 a version of the program, 1 a mounted file system,
-- 2 a worker's platform.
CREATE TABLE IF NOT EXISTS fact (
    stack_id    BIGINT UNSIGNED NOT NULL,
    kind        TINYINT UNSIGNED NOT NULL,
    fact        BIGINT          NOT NULL,
    seen        DATETIME(6)     NOT NULL,
    text        BLOB            NOT NULL,
    PRIMARY KEY (stack_id, kind, fact)
) ENGINE=InnoDB;

-- Finds the entries of a datapath: hash is the first eight bytes of the SHA-256 of its absolute name.
-- Only entries up to stack.indexed have a row.
CREATE TABLE IF NOT EXISTS path (
    stack_id    BIGINT UNSIGNED NOT NULL,
    hash        BINARY(8)       NOT NULL,
    entry_id    BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, hash, entry_id)
) ENGINE=InnoDB;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'indexed') > 0, 'DO 0',
    'ALTER TABLE stack
        ADD COLUMN indexed BIGINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'worker' AND column_name = 'platform') > 0, 'DO 0',
    'ALTER TABLE worker
        ADD COLUMN platform BIGINT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- program, mount: rows of fact.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'attempt' AND column_name = 'program') > 0, 'DO 0',
    'ALTER TABLE attempt
        ADD COLUMN program BIGINT NULL,
        ADD COLUMN mount BIGINT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
