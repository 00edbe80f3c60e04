-- SPDX-License-Identifier: BSD-2-Clause
--
-- Python packages: in how many attempts of a worker a package was imported.

CREATE TABLE IF NOT EXISTS package (
    stack_id    BIGINT UNSIGNED NOT NULL,
    worker_id   BIGINT UNSIGNED NOT NULL,
    name        VARBINARY(255)  NOT NULL,
    version     VARBINARY(255)  NOT NULL,
    entries     BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (stack_id, worker_id, name, version)
) ENGINE=InnoDB;
