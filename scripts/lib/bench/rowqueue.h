/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The queue that everybody builds first, one row per entry in the table `queue` (section_ledger.py makes it):
 *
 *	SELECT id, datapath FROM queue WHERE state=0 ORDER BY id LIMIT K FOR UPDATE SKIP LOCKED;
 *	UPDATE queue SET state=1, ... WHERE id IN (...);  COMMIT;
 *	UPDATE queue SET state=2, ... WHERE id IN (...);  COMMIT;
 *
 * Fair in that it has all that is known to help it: the index (state,id) serves the order, so nothing is sorted and no
 * more rows are locked than are taken; READ COMMITTED, so no gaps are; K rows are claimed or closed in one statement;
 * no BEGIN costs a trip; and a deadlock is tried again.  It keeps less than jobstack does (no fence, no lease, no
 * history).
 *
 * Each function returns 0, or -1 after a failure, which it has told (crew_complain).
 */
#ifndef BENCH_ROWQUEUE_H
#define BENCH_ROWQUEUE_H

#include <stddef.h>
#include <stdint.h>

#define ROWQUEUE_MAX 500 /* rows at once */

/* One client of the queue, with a connection of its own. */
struct rowqueue;

/* Connects, by the option file CNF and, if it is not 0, PORT.  WORKER is a number that is kept with each claim. */
int rowqueue_open(struct rowqueue **q, const char *cnf, unsigned port, const char *database, unsigned worker);
void rowqueue_free(struct rowqueue *q);

/* Claims up to K rows, and reads their datapaths as a worker would.  IDS gets their *N numbers. */
int rowqueue_claim(struct rowqueue *q, size_t k, uint64_t *ids, size_t *n);

/* Closes N rows as done, or returns them to the queue. */
int rowqueue_close(struct rowqueue *q, const uint64_t *ids, size_t n);
int rowqueue_return(struct rowqueue *q, const uint64_t *ids, size_t n);

#endif
