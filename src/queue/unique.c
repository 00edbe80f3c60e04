/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What --unique needs: a row in name for each entry of the stack, and which names of a chunk are there already.
 *
 * stack.named is the last entry up to which each one has a row in `name`; NULL: no push was --unique yet.  From the
 * first one on, each push adds rows for its own entries, and `named` follows `tail`.
 */
#include "queue/pushing.h"

#include "base/array.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define NAMING_STEP 5000

/* Each step is one transaction on the stack's row, so two pushes that do this at once wait for each other, and a push
 * that goes on meanwhile either has its rows written here, or finds `named` set and writes them itself.  IGNORE: of a
 * name that was pushed twice before, the first entry has the row. */
int js_unique_complete(struct js_pushing *p, struct jobstack_error *error)
{
	int status;

	for (uint64_t left = 1; left > 0;) {
		struct js_sql sql = {0};

		js_sql_stmt(&sql, "SET @js_lo=NULL");
		js_sql_stmt(&sql,
			    "SELECT COALESCE(named,0) INTO @js_lo FROM stack WHERE stack_id=%u AND state<3 FOR UPDATE",
			    p->stack.id);
		js_stack_mark_sql(&sql, p->stack.id);
		js_sql_stmt(&sql,
			    "INSERT IGNORE INTO name(stack_id,hash,entry_id) SELECT "
			    "stack_id,UNHEX(SHA2(datapath,256)),entry_id FROM entry WHERE stack_id=%u AND entry_id "
			    "BETWEEN @js_lo+1 AND @js_lo+%u",
			    p->stack.id, (uint64_t)NAMING_STEP);
		js_sql_must(&sql, "UPDATE stack SET named=LEAST(tail,@js_lo+%u) WHERE stack_id=%u AND state<3",
			    (uint64_t)NAMING_STEP, p->stack.id);
		status = js_db_commit(p->handle->db, &sql, NULL, error);
		if (status == JS_DB_GUARD)
			status = js_stack_refuse(p->handle, p->stack_name, error);
		if (status != 0)
			return status;
		JS_TRY(js_handle_ask_number(p->handle, &left, error, "SELECT tail-named FROM stack WHERE stack_id=%u",
					    p->stack.id));
	}
	p->stack.named = 1;
	return 0;
}

void js_unique_names_sql(const struct js_pushing *p, struct js_sql *sql, uint64_t n, int sorted)
{
	js_sql_add(sql, p->options->unique ? "INSERT INTO name(stack_id,hash,entry_id) "
					   : "INSERT IGNORE INTO name(stack_id,hash,entry_id) ");
	/* the LIMIT makes the inner SELECT a table of its own, so that each name is hashed once */
	js_sql_add(sql,
		   sorted ? "SELECT %u,h,entry_id FROM (SELECT UNHEX(SHA2(datapath,256)) h,entry_id FROM entry "
			  : "SELECT %u,UNHEX(SHA2(datapath,256)),entry_id FROM entry ",
		   p->stack.id);
	js_sql_add(sql, "WHERE stack_id=%u AND entry_id BETWEEN @js_t+1 AND @js_t+%u", p->stack.id, n);
	if (sorted)
		js_sql_add(sql, " LIMIT %u) n ORDER BY h,entry_id", n);
	js_sql_add(sql, ";");
}

#define HASH 32 /* bytes of a SHA-256 */

/* A name of the part, by its hash. */
struct hashed {
	unsigned char hash[HASH];
	size_t i;
};

struct hashes {
	struct js_pushing *p;
	struct hashed *list; /* in order of the hashes, and of the names where they are the same */
	size_t n;
	uint64_t holder, held;
};

static int compare_hashed(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;
	int c = memcmp(x->hash, y->hash, sizeof(x->hash));

	return c != 0 ? c : (x->i > y->i) - (x->i < y->i);
}

static void drop_name(struct js_pushing *p, size_t i)
{
	p->dropped += (size_t)!p->names[i].drop;
	p->names[i].drop = 1;
}

/* A name that the stack has, or had before its entry was pruned: drops it from the part.  One that another push holds
 * is not the stack's yet, and may never be. */
static void take_known(void *ctx, const struct js_row *row)
{
	struct hashes *h = ctx;
	struct hashed key = {.i = 0};
	size_t at;

	if (row == NULL)
		h->held = 0;
	if (row == NULL || row->len[0] != HASH)
		return;
	if (row->col[1] != NULL) {
		h->holder = js_row_u64(row, 1);
		h->held++;
		return;
	}
	memcpy(key.hash, row->col[0], HASH);
	at = js_array_lower(h->list, h->n, sizeof(*h->list), &key, compare_hashed);
	if (at < h->n && memcmp(h->list[at].hash, key.hash, HASH) == 0) {
		drop_name(h->p, h->list[at].i);
		h->p->all_new = 0;
	}
}

/* Drops names that the part has a second time; the first stays.  The list is sorted, so they are neighbours. */
static void drop_doubled(struct hashes *h)
{
	for (size_t i = 1; i < h->n; i++)
		if (memcmp(h->list[i].hash, h->list[i - 1].hash, HASH) == 0)
			drop_name(h->p, h->list[i].i);
}

/* Hashes the names as the server does it for the table name. */
static int hash_names(struct hashes *h, struct jobstack_error *error)
{
	const struct js_pushing *p = h->p;
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	int made = sum != NULL && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; made && i < h->n; i++) {
		const struct js_pushed_name *name = &p->names[p->from + i];

		h->list[i].i = p->from + i;
		made = (i == 0 || EVP_DigestInit_ex(sum, NULL, NULL) == 1) &&
		       EVP_DigestUpdate(sum, p->bytes.data + name->at, name->len) == 1 &&
		       EVP_DigestFinal_ex(sum, h->list[i].hash, NULL) == 1;
	}
	EVP_MD_CTX_free(sum);
	return made ? 0 : js_error_set(error, JOBSTACK_EBUG, "libcrypto does not make SHA-256 sums of the names");
}

/* Asks the server which of N hashes from FROM on it has. */
static int ask_known(struct hashes *h, size_t from, size_t n, struct jobstack_error *error)
{
	const struct js_pushing *p = h->p;
	struct js_sql sql = {0};
	int any = 0, status = 0;

	h->held = 0;
	/* the primary keys.  Both tables in one statement, that is, as they are at one moment: between two, a push
	 * could take its entries away, and its name would be known though there is no entry */
	js_sql_add(&sql,
		   "SELECT n.hash,(SELECT s.push_id FROM span s FORCE INDEX(PRIMARY) WHERE s.stack_id=%u AND "
		   "s.class=2 AND s.push_id<>%u AND s.lo<=n.entry_id AND s.hi>=n.entry_id LIMIT 1) "
		   "FROM name n WHERE n.stack_id=%u AND n.hash IN(",
		   p->stack.id, p->push_id, p->stack.id);
	for (size_t i = from; i < from + n; i++)
		if (!p->names[h->list[i].i].drop)
			js_sql_add(&sql, any++ ? ",%x" : "%x", (const void *)h->list[i].hash, sizeof(h->list[i].hash));
	js_sql_stmt(&sql, ")");
	if (any)
		status = js_db_query(p->handle->db, &sql, take_known, h, error);
	js_sql_free(&sql); /* when there was nothing to ask */
	return status;
}

/* Without ASK only repeated names are dropped: the part is then tried, and a known name would fail on its key. */
int js_unique_drop(struct js_pushing *p, int ask, uint64_t *holder, uint64_t *held, struct jobstack_error *error)
{
	struct hashes h = {p, calloc(p->to - p->from, sizeof(*h.list)), p->to - p->from, 0, 0};
	int status;

	*holder = *held = 0;
	if (h.list == NULL)
		return js_error_memory(error);
	status = hash_names(&h, error);
	if (status == 0) {
		qsort(h.list, h.n, sizeof(*h.list), compare_hashed);
		drop_doubled(&h);
		p->all_new |= ask;
		for (size_t at = 0, n; ask && status == 0 && at < h.n; at += n, *held += h.held) {
			n = h.n - at < JS_PART_NAMES ? h.n - at : JS_PART_NAMES;
			status = ask_known(&h, at, n, error);
		}
	}
	*holder = h.holder;
	free(h.list);
	return status;
}
