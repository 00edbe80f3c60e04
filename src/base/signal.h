/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Signals that were ignored when this process was started (nohup, a shell's `&`, `trap ''`).  They stay ignored, here
 * and in what we start.
 */
#pragma once

/* Returns whether the signal NUMBER is ignored now. */
int js_signal_is_ignored(int number);

/* Installs HANDLER for the signal NUMBER, unless it is ignored. */
void js_signal_catch(int number, void (*handler)(int number));

/* How a process ended, in the words of a reason: "exit 3", "killed by signal 9 (Killed)". */
#define JS_ENDING_WORDS 64
void js_ending_words(char words[JS_ENDING_WORDS], int exit_code, int signal);
