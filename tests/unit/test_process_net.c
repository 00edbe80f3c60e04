/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The greeting of a server that is slow to accept, while signals arrive: it decides whether a data directory is taken
 * over, so a signal must not be an answer.
 */
#include "base/clock.h"
#include "proc/net.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_US (60 * JS_SECOND_US)
#define FILLERS 8

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

/* A MariaDB greeting: length, sequence, 10, version, thread, scramble, filler, capabilities with TLS. */
static const char greeting[] = "\x1d\0\0\0\x0a"
			       "10.11.6"
			       "\0\1\0\0\0scramble\0\0\x08......";

/* Connections that nobody accepts fill the listener's queue, so that a further one waits. */
static void fill_queue(const struct sockaddr_in *address, int fillers[FILLERS])
{
	for (int i = 0; i < FILLERS; i++) {
		struct pollfd made = {.events = POLLOUT};

		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_true(fillers[i] >= 0);
		(void)connect(fillers[i], (const struct sockaddr *)(const void *)address, sizeof(*address));
		made.fd = fillers[i];
		(void)poll(&made, 1, 100);
	}
}

/* Signals PARENT until it has been interrupted, then accepts and greets everybody. */
static void interrupt_and_serve(pid_t parent, int listener)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not leave it behind */
	for (int i = 0; i < 20; i++) {		/* connect() is what it waits in */
		js_clock_nap(10000, NULL);
		(void)kill(parent, SIGUSR1);
	}
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			_exit(1);
		(void)!write(fd, greeting, sizeof(greeting) - 1);
	}
}

static void test_signals(void **state)
{
	struct sigaction on_signal = {.sa_handler = count_signal};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fillers[FILLERS];
	char version[JS_NET_VERSION];
	pid_t self = getpid(), child;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &on_signal, NULL), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)(void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&address, &len), 0);
	fill_queue(&address, fillers);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		interrupt_and_serve(self, listener);
	assert_int_equal(js_net_greet("127.0.0.1", ntohs(address.sin_port), LIMIT_US, version), 0);
	assert_true(signals > 0);
	assert_string_equal(version, "10.11.6");
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < FILLERS; i++)
		(void)close(fillers[i]);
	(void)close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
