/* SPDX-License-Identifier: BSD-2-Clause
 *
 * planted leak|race: memory that is lost, and two threads that write one place without a lock.  So
 * that it is known that valgrind and ThreadSanitizer, as the tests run them, find such things.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int place;
static void *volatile keeper;

static void *write_place(void *arg)
{
	for (int i = 0; i < 100000; i++)
		place += *(int *)arg;
	return NULL;
}

int main(int argc, char *argv[])
{
	pthread_t other;
	int one = 1;

	if (argc == 2 && strcmp(argv[1], "leak") == 0) {
		keeper = malloc(1000);
		keeper = NULL;
		return 0;
	}
	if (argc != 2 || strcmp(argv[1], "race") != 0 || pthread_create(&other, NULL, write_place, &one) != 0)
		return 2;
	(void)write_place(&one);
	(void)pthread_join(other, NULL);
	return printf("%d\n", place) < 0;
}
