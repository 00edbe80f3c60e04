/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Signals that are ignored from the beginning.  Promise: no handler takes the place of an inherited SIG_IGN.
 */
#include "base/signal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stddef.h>

int js_signal_is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void js_signal_catch(int number, void (*handler)(int number))
{
	struct sigaction act = {.sa_handler = handler};

	if (!js_signal_is_ignored(number))
		(void)sigaction(number, &act, NULL);
}

void js_ending_words(char words[JS_ENDING_WORDS], int exit_code, int signal)
{
	if (signal != 0)
		(void)snprintf(words, JS_ENDING_WORDS, "killed by signal %d (%.30s)", signal, strsignal(signal));
	else
		(void)snprintf(words, JS_ENDING_WORDS, "exit %d", exit_code);
}
