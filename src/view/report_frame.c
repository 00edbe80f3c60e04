/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The page around its reports: style, script, policy, and the table of stacks.
 */
#include "base/clock.h"
#include "view/html.h"
#include "view/report.h"
#include "view/version.h"
#include "view/words.h"

#include <stdio.h>
#include <stdlib.h>

/* Style and script, and what the page's policy knows them by: SHA-256, base64.  A test computes both again. */
#define STYLE_HASH "wXJADbQZR8wpAujjDUmxdSUNaHxP4Z/weReWoKm2Xh4="
#define SCRIPT_HASH "rBjakW9s6++xGeJOzvk04eZwfk+XvOfxSkBVxWpgYLE="
/* clang-format off */
static const char style[] =
	":root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#6a6a6a;--line:#d8d8d8;--done:#0072b"
	"2;--bad:#d55e00;--run:#e69f00;--rest:#bdbdbd}@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;-"
	"-paper:#16181a;--soft:#a0a0a0;--line:#3a3d40;--done:#56b4e9;--bad:#e8833a;--run:#f0c04a;--rest:#5a5d"
	"60}}body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;m"
	"ax-width:60rem;padding:1rem}h1{font-size:1.5rem;margin:2rem 0 .5rem}h2{font-size:1.1rem;margin:2rem "
	"0 .3rem}h3{font-size:.95rem;margin:1.2rem 0 .2rem}p,ul{margin:.3rem 0 .8rem}ul{padding-left:1.2rem;o"
	"verflow-wrap:anywhere}.key{font-size:.85rem;color:var(--soft);margin:.1rem 0 .3rem}.key span,li code"
	"{white-space:nowrap}.key svg{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .6em}.verdi"
	"ct{font-size:1.15rem}.soft,footer{color:var(--soft);font-size:.9rem}svg{display:block;width:100%}.gr"
	"aph{height:auto}.whole{height:1.4rem}.done{fill:var(--done)}.bad{fill:var(--bad)}.run{fill:var(--run"
	")}.rest{fill:var(--rest)}.all{fill:transparent}.axis{stroke:var(--soft);fill:none}g:hover .all{fill:"
	"var(--line)}.ends{display:flex;justify-content:space-between}.wide{overflow-x:auto}table{border-coll"
	"apse:collapse;font-size:.9rem}th,td{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top;b"
	"order-bottom:1px solid var(--line)}td{overflow-wrap:anywhere;min-width:5.5em}.n{min-width:0;text-ali"
	"gn:right;white-space:nowrap;font-variant-numeric:tabular-nums}.bar{width:30%;min-width:5rem}.bar svg"
	"{height:.8rem;margin-top:.3rem}th button{all:unset;cursor:pointer}th button:focus-visible{outline:2p"
	"x solid var(--done)}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.7rem;border:1px solid v"
	"ar(--line)}.heat table{font-size:.75rem}.heat td,.heat th{min-width:0;padding:.1rem .2rem;white-spac"
	"e:nowrap}.h1{background:#e69f0026}.h2{background:#e69f0059}.h3{background:#e69f0080}.h4,.h5{backgrou"
	"nd:#e69f00bf;color:#1b1b1b}.h5{background:#e69f00}summary{cursor:pointer;color:var(--soft)}@media pr"
	"int{body{max-width:none}details{display:none}section{break-inside:auto}tr,svg{break-inside:avoid}h2,h"
	"3{break-after:avoid}.wide{overflow:visible}.heat table{font-size:.5rem}}";

/* A click on a heading sorts the table. */
static const char script[] =
	"for(const t of document.querySelectorAll('table')){const b=t.tBodies[0];[...t.tHead.rows[0].cells].f"
	"orEach((h,i)=>{const k=document.createElement('button');k.append(...h.childNodes);h.append(k);k.titl"
	"e='sort';k.onclick=()=>{const up=h.getAttribute('aria-sort')!='descending';for(const o of t.tHead.ro"
	"ws[0].cells)o.removeAttribute('aria-sort');h.setAttribute('aria-sort',up?'descending':'ascending');c"
	"onst v=r=>{const c=r.cells[i];return c?c.dataset.v===undefined?c.textContent:+c.dataset.v:''};b.appe"
	"nd(...[...b.rows].sort((x,y)=>{const p=v(x),q=v(y);return(up?-1:1)*(p<q?-1:p>q?1:0)}))}})}";
/* clang-format on */

static void begin_page(struct js_buf *out, const char *title, unsigned reload_s)
{
	js_buf_str(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
			"'sha256-" STYLE_HASH "'; script-src 'sha256-" SCRIPT_HASH "'\">\n"
			"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
	if (reload_s > 0)
		js_buf_printf(out, "<meta http-equiv=\"refresh\" content=\"%u\">\n", reload_s);
	js_buf_str(out, "<title>");
	html_words(out, title);
	js_buf_printf(out, "</title>\n<style>%s</style></head><body><main>\n", style);
}

void view_page_keep(struct view_page_stacks *all, const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;
	const char *text = insight_facts_text(&r->facts, JOBSTACK_FACT_PROGRAM, t->program[0].number);
	struct js_buf program = {0};
	size_t at = all->n;

	if (at == VIEW_PAGE_STACKS)
		return;
	if (text != NULL)
		view_version_short(&program, text);
	(void)snprintf(all->at[at].name, sizeof(all->at[at].name), "%s", r->stack.name);
	(void)snprintf(all->at[at].program, sizeof(all->at[at].program), "%s", program.len > 0 ? program.data : "-");
	all->at[at].entries = r->stack.s.pushed;
	all->at[at].done = r->stack.s.done + r->stack.s.pruned;
	all->at[at].dead = r->stack.s.dead;
	all->at[at].us = insight_time(t->us);
	all->at[at].wasted = all->at[at].us - t->us[JOBSTACK_DONE];
	all->n++;
	js_buf_free(&program);
}

static int compare_stack_times(const void *a, const void *b)
{
	double x = ((const struct view_page_stacks *)a)->at[0].us, y = ((const struct view_page_stacks *)b)->at[0].us;

	return (x < y) - (x > y);
}

/* Where the time went, by stack and its program. */
static void add_stacks(struct js_buf *out, struct view_page_stacks *all)
{
	double us = 0;

	if (all->n < 2)
		return;
	qsort(all->at, all->n, sizeof(all->at[0]), compare_stack_times);
	for (size_t i = 0; i < all->n; i++)
		us += all->at[i].us;
	html_section(out, "Stacks and programs", "Sorted by time. All commands took %s together.", view_took(us).text);
	html_table(out, "stack|program|#entries|#done|#dead|#total time|share of time|#wasted", 0);
	for (size_t i = 0; i < all->n; i++) {
		const uint64_t count[3] = {all->at[i].entries, all->at[i].done, all->at[i].dead};

		html_row(out);
		html_cell(out, all->at[i].name);
		html_cell(out, all->at[i].program);
		for (int k = 0; k < 3; k++)
			html_count(out, count[k]);
		html_number(out, all->at[i].us, view_took(all->at[i].us).text);
		html_bar(out, insight_share(all->at[i].us, us), "done");
		html_number(out, all->at[i].wasted, view_percent(insight_share(all->at[i].wasted, all->at[i].us)).text);
	}
	html_table_end(out, 0);
	html_section_end(out);
}

void view_page_end(struct js_buf *out, struct view_page_stacks *all, const char *title, unsigned reload_s)
{
	struct js_buf body = *out;

	*out = (struct js_buf){.failed = body.failed};
	begin_page(out, title, reload_s);
	add_stacks(out, all);
	js_buf_add(out, body.data, body.len);
	js_buf_printf(
		out, "</main><footer>jobstack report, %s. Times are UTC.</footer>\n<script>%s</script></body></html>\n",
		view_second(js_clock_wall_us()).text, script);
	js_buf_free(&body);
}
