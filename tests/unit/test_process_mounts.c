/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/mounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char table[] = "/dev/vda / ext4 rw,relatime 0 0\n"
			    "10.0.0.1@o2ib:/scratch /scratch lustre rw 0 0\n"
			    "/dev/nvme /scratch/fast\\040disk xfs rw 0 0\n"
			    "systemd-1 /tmp autofs rw 0 0\n"
			    "tmpfs /tmp tmpfs rw 0 0\n";

static const char *type_of(const struct js_mounts *m, const char *path)
{
	const struct js_mount *mount = js_mounts_of(m, path, strlen(path));

	return mount != NULL ? mount->type : "?";
}

static void by_the_longest_place(void **state)
{
	char file[] = "/tmp/mounts.XXXXXX";
	struct js_mounts m = {.n = 0};
	int fd = mkstemp(file);

	(void)state;
	assert_string_equal(type_of(&m, "/"), "?");
	assert_true(fd >= 0 && write(fd, table, sizeof(table) - 1) == (ssize_t)sizeof(table) - 1);
	for (int again = 0; again < 2; again++)
		assert_int_equal(js_mounts_read(&m, file), 0);
	assert_int_equal(m.n, 5);
	assert_string_equal(type_of(&m, "/"), "ext4");
	assert_string_equal(type_of(&m, "/scratchy/x"), "ext4");
	assert_string_equal(type_of(&m, "/scratch"), "lustre");
	assert_string_equal(type_of(&m, "/scratch/x"), "lustre");
	assert_string_equal(type_of(&m, "/scratch/fast disk/x"), "xfs");
	assert_string_equal(type_of(&m, "/tmp/x"), "tmpfs");
	assert_string_equal(type_of(&m, ""), "ext4");
	assert_true(js_mount_is_counted(js_mounts_of(&m, "/x", 2)));
	assert_false(js_mount_is_counted(js_mounts_of(&m, "/scratch", 8)));
	assert_false(js_mount_is_counted(NULL));
	assert_int_equal(js_mounts_read(&m, "/proc/no such file"), -1);
	assert_int_equal(m.n, 0);
	js_mounts_free(&m);
	(void)close(fd);
	(void)unlink(file);
}

static void of_this_machine(void **state)
{
	struct js_mounts m = {.n = 0};

	(void)state;
	assert_int_equal(js_mounts_read(&m, "/proc/self/mounts"), 0);
	assert_string_equal(type_of(&m, "/proc/self"), "proc");
	js_mounts_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_longest_place),
		cmocka_unit_test(of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
