-- SPDX-License-Identifier: BSD-2-Clause
--
-- Homes: pieces that a pop has cut off a long span, so that pops under a binary log do not all wait for one row.

-- 1: the span is such a piece.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'span' AND column_name = 'home') > 0, 'DO 0',
    'ALTER TABLE span ADD COLUMN home TINYINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;

-- 1: entries are popped exactly in their order, whatever that costs.
SET @ddl = IF((SELECT COUNT(*) FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'stack' AND column_name = 'strict_order') > 0, 'DO 0',
    'ALTER TABLE stack ADD COLUMN strict_order TINYINT UNSIGNED NOT NULL DEFAULT 0');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
