-- SPDX-License-Identifier: BSD-2-Clause
--
-- Names of up to 32 KiB, for lists of commands.  A longer VARBINARY changes only what the server knows about the table:
-- no row is copied.
SET @ddl = IF((SELECT character_maximum_length FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'entry' AND column_name = 'datapath') >= 32768, 'DO 0',
    'ALTER TABLE entry MODIFY datapath VARBINARY(32768) NOT NULL');
PREPARE ddl FROM @ddl;
EXECUTE ddl;
DEALLOCATE PREPARE ddl;
