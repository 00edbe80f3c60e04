/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Two transactions on two servers of a cluster that both take writes.  A lock is its server's own.  What the cluster promises: each
 * transaction gets a place in one order; if one before it, which it did not see, changed a row that it changes as well, it is not
 * committed, and begins again.  docs/DESIGN.md ("The model") tells more; tests/model/check runs it.
 *
 * CASE 0: a pusher (or a worker) is born into a stack, and the stack is dropped, unless somebody pushes.  1: two pops of a stack with a limit of one, of different spans.  2: two
 * requeue one dead entry.  3: a pop and a cancel of one entry: both cut its span (the cancel doesn't, with NO_SPAN).  With LOCKS_ONLY who locks a row does not change it, as on a single server. */
#define STACK	1	/* rows, as bits */
#define GATE	2
#define DEAD	4
#define SPAN(s)	(8 << (s))

/* What is true at a server, and what a transaction makes of it. */
typedef server { bool dropping; unsigned pushers : 2; unsigned running : 2; unsigned dead : 2; unsigned ready : 2; bool cancelled; unsigned seen : 2 };
typedef change { bool drop, birth, pop, requeue, cancel; byte rows };

server at[2];
change order[2];	/* what was committed, in the cluster's order */
byte n;			/* how many */
bool over[2];

inline apply(s, c) {
	at[s].dropping = at[s].dropping || c.drop;
	at[s].pushers = at[s].pushers + c.birth;
	at[s].running = at[s].running + c.pop;
	at[s].dead = at[s].dead - c.requeue;
	at[s].ready = at[s].ready + c.requeue;
	at[s].cancelled = at[s].cancelled || c.cancel;
	at[s].seen++
}

#ifdef LOCKS_ONLY
#define LOCK(row) 0
#else
#define LOCK(row) row
#endif
#ifdef NO_SPAN
#define CUT 0
#else
#define CUT SPAN(0)
#endif

proctype transaction(byte s) {
	change mine; byte from, i;
	bool clash;

again:	atomic {	/* what it reads at its server, and what it wants on the ground of that */
		mine.drop = 0; mine.birth = 0; mine.pop = 0; mine.requeue = 0; mine.cancel = 0; mine.rows = 0; clash = 0;
		from = at[s].seen;
		if
		:: CASE == 0 && s == 0 && !at[s].dropping -> mine.birth = 1; mine.rows = LOCK(STACK)
		:: CASE == 0 && s == 1 && at[s].pushers == 0 -> mine.drop = 1; mine.rows = STACK
		:: CASE == 1 && at[s].running == 0 -> mine.pop = 1; mine.rows = SPAN(s) | LOCK(GATE)
		:: CASE == 2 && at[s].dead == 1 -> mine.requeue = 1; mine.rows = DEAD | LOCK(STACK)
		:: CASE == 3 && s == 0 && !at[s].cancelled -> mine.pop = 1; mine.rows = SPAN(0)
		:: CASE == 3 && s == 1 && at[s].running == 0 -> mine.cancel = 1; mine.rows = STACK | CUT
		:: else -> goto done	/* refused */
		fi
	}
	atomic {	/* it is put in order: against all that it did not see */
		for (i : 0 .. 1) { clash = clash || (i >= from && i < n && (order[i].rows & mine.rows) != 0) }
		if
		:: clash -> skip
		:: else ->
			order[n].drop = mine.drop; order[n].birth = mine.birth; order[n].pop = mine.pop;
			order[n].requeue = mine.requeue; order[n].cancel = mine.cancel; order[n].rows = mine.rows;
			n++
		fi
	}
	if
	:: clash -> at[s].seen == n; goto again	/* it reads what was committed */
	:: else
	fi;
done:	over[s] = 1
}

proctype applier(byte s) {	/* as late as it likes */
	do
	:: atomic { at[s].seen < n -> apply(s, order[at[s].seen]) }
	:: over[0] && over[1] && at[s].seen == n -> break
	od
}

init {
	atomic { at[0].dead = 1; at[1].dead = 1; run transaction(0); run transaction(1); run applier(0); run applier(1) }
	_nr_pr == 1;	/* all is through, everywhere */
	assert(!(at[0].dropping && at[0].pushers > 0));	/* born */
	assert(at[0].running <= 1);	/* limit */
	assert(at[0].ready <= 1);	/* twice */
	assert(!(at[0].cancelled && at[0].running > 0));
	assert(at[0].ready == at[1].ready && at[0].pushers == at[1].pushers && at[0].running == at[1].running)
}
