/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The page for a browser, which the build makes of page.html, page.css and page.js: what stands before its data, and
 * behind it.
 */
#pragma once

extern const char view_page_head[], view_page_tail[];
