-- SPDX-License-Identifier: BSD-2-Clause
--
-- What a database administrator gives to jobstack: a database, and a user who may do in it what jobstack needs and
-- nothing anywhere else.  Replace the three words between at signs, then feed this to the server as its administrator.
-- (In a GRANT, _ and % in a database's name are wildcards: write \_ and \% there.)
-- The tests run with exactly these rights.

CREATE DATABASE IF NOT EXISTS `@DATABASE@` CHARACTER SET utf8mb4;

CREATE USER IF NOT EXISTS '@USER@'@'%' IDENTIFIED BY '@PASSWORD@';

GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, SHOW VIEW
	ON `@DATABASE@`.* TO '@USER@'@'%';
