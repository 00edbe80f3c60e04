-- SPDX-License-Identifier: BSD-2-Clause
--
-- Makes a database of version 13 one of the version 12 that 0013_made_up.sql changes.
ALTER TABLE stack DROP COLUMN max_running, DROP COLUMN max_failures;
ALTER TABLE attempt DROP COLUMN major_faults;
ALTER TABLE running_limit ADD COLUMN running BIGINT UNSIGNED NOT NULL DEFAULT 0;
DELETE FROM jobstack_version;
INSERT INTO jobstack_version VALUES(12,UTC_TIMESTAMP(6));
