/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lines of option files, as MySQL's own readers take them: "key = value", with quotes, escapes and comments.
 */
#pragma once

/* Takes the blanks off both ends of TEXT, in place; returns its new beginning. */
char *js_setting_trim(char *text);

/* Cuts "key = value # comment" in two, in place: returns the key, with dashes as underscores.  *VALUE is the value
 * without quotes, or NULL: there is no "=". */
char *js_setting_split(char *line, char **value);
