/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A drop beside pops, on one server: the drop's first transaction decides, and its spans are deleted afterwards, one piece at a time.
 * Transactions are not atomic here: each statement is a step, locks are held until the COMMIT, and a statement reads what was committed
 * before it began.  docs/DESIGN.md ("The model") tells more; tests/model/check runs it.
 *
 * With NO_WORKERS the drop does not lock the rows of workers; with NO_SHARE a script's pop does not lock the stack's row. */
mtype { WAITING, READY, CLAIMED, GONE };

mtype place[2] = READY;		/* of the two spans */
bool dropping;			/* committed */
byte claims;			/* committed ones */
bool locked[2], fence;		/* the spans, and the row of the worker */
bool stack_x;			/* the row of the stack: by one, */
byte stack_s;			/* or by some that share it */
bool late;			/* a pop has found that the stack is being dropped */

/* The first span that is ready.  A pop waits for it if another has locked it, and looks again. */
#define FIRST(i) (place[i] == READY && (i == 0 || place[0] != READY))

inline commit_pop(i) {
	locked[i] = 0;
	place[i] = CLAIMED;
	claims++;
	assert(!(dropping && claims > 0))
}

/* It holds the claim for a while; it is done, or goes back to wait. */
inline close_claim(i) {
	claims--;
	if
	:: place[i] = GONE
	:: place[i] = WAITING
	fi
}

/* STATE was read when the statement began, which locks a span then. */
inline take_span(state, i) {
	state = dropping;
	i = 2;
	if
	:: state -> late = 1
	:: else ->
		if
		:: atomic { FIRST(0) && !locked[0] -> locked[0] = 1; i = 0 }
		:: atomic { FIRST(1) && !locked[1] -> locked[1] = 1; i = 1 }
		:: place[0] != READY && place[1] != READY
		fi
	fi
}

active proctype worker() {
	bool state; byte i, steps;

	do
	:: steps < 2 ->
		atomic { !fence -> fence = 1; steps++ }
		take_span(state, i);
		atomic {
			if
			:: i < 2 -> commit_pop(i)
			:: else
			fi;
			fence = 0
		}
		if
		:: i < 2 ->
			atomic { !fence -> fence = 1 }
			atomic { close_claim(i); fence = 0 }
		:: else
		fi
	:: break
	od
}

active [2] proctype script() {
	bool state; byte i;

#ifndef NO_SHARE
	atomic { !stack_x -> stack_s++ }
	if
	:: dropping -> late = 1; stack_s--; goto done
	:: else
	fi;
#endif
	take_span(state, i);
	atomic {
		if
		:: i < 2 -> commit_pop(i)
		:: else
		fi;
#ifndef NO_SHARE
		stack_s--
#endif
	}
	if
	:: i < 2 -> atomic { close_claim(i) }
	:: else
	fi;
done:	skip
}

active proctype promotion() {
	do
	:: atomic { place[0] == WAITING && !locked[0] -> place[0] = READY }
	:: atomic { place[1] == WAITING && !locked[1] -> place[1] = READY }
	:: break
	od
}

active proctype drop() {
	byte kills;

again:	atomic { !stack_x && stack_s == 0 -> stack_x = 1 }
#ifndef NO_WORKERS
	atomic { !fence -> fence = 1 }
#endif
	if	/* the check, and the COMMIT */
	:: atomic { claims == 0 || dropping -> dropping = 1 }
	:: atomic { claims > 0 && !dropping -> skip }
	fi;
	atomic {
		stack_x = 0;
#ifndef NO_WORKERS
		fence = 0
#endif
	}
	if
	:: !dropping -> goto done	/* refused */
	:: else
	fi;
	do	/* in pieces */
	:: atomic { (place[0] == READY || place[0] == WAITING) && !locked[0] -> place[0] = GONE }
	:: atomic { (place[1] == READY || place[1] == WAITING) && !locked[1] -> place[1] = GONE }
	:: atomic { kills < 1 -> kills++; goto again }	/* it is killed, and another begins */
	:: place[0] == GONE && place[1] == GONE -> break
	od;
	assert(claims == 0);
#ifdef SEEN
	assert(!late);
#endif
done:	skip
}
