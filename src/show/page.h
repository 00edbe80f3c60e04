/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The page for a browser, which the build makes of page.html, page.css and page.js: what stands before its data, and
 * behind it.
 */
#pragma once

extern const char show_page_head[], show_page_tail[];
