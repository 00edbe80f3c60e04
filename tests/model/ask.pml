/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who asks Slurm (jobstack_ask, jobstack_answer): three askers of one question, a row, and the server's clock.  Each
 * statement is a step.  A reply may be lost once, and the packet may then arrive late; one asker may be killed anywhere.
 * docs/DESIGN.md ("The model") tells more; tests/model/check runs it.
 *
 * With NO_CAS who asks writes the row without a look at what it has now; with NO_TOKEN an answer is stored whoever asked last. */
#define PERIOD 2
#define END 6

byte now = PERIOD, asked;	/* the clock; when it was asked last */
byte by, answered;		/* who asked last; when the question behind the stored answer was asked (0: no answer yet) */
bool cut, killed;

#define NOBODY 9	/* who asked last got no answer */
#define FRESH (by != 0 && now - asked < PERIOD)

inline commit(me, seen_asked, seen_by, won) {
	if
#ifdef NO_CAS
	:: true ->
#else
	:: asked == seen_asked && by == seen_by ->
#endif
		assert(by == 0 || now - asked >= PERIOD || by == me);	/* two questions in a period */
		asked = now;
		by = me;
		answered = 0;
		won = 1
#ifndef NO_CAS
	:: else
#endif
	fi
}

proctype asker(byte me) {
	byte seen_asked, seen_by, rounds, at;
	bool won, fresh;

	do
	:: rounds < 3 && !won ->
		atomic { rounds++; seen_asked = asked; seen_by = by; fresh = FRESH; won = (by == me && fresh && rounds > 1); at = asked }
		if
		:: won || fresh
		:: !won && !fresh ->
			if
			:: atomic { commit(me, seen_asked, seen_by, won); at = now }
			:: atomic { !cut -> cut = 1; commit(me, seen_asked, seen_by, won); won = 0 }	/* the reply is lost */
			:: atomic { !cut -> cut = 1; run ghost(me, seen_asked, seen_by) }
			fi
		fi
	:: won || rounds == 3 -> break
	od;
	if
	:: atomic { won && me == 1 -> killed = 1 }
	:: won ->
		atomic {	/* the answer */
			if
#ifdef NO_TOKEN
			:: true ->
#else
			:: by == me && asked == at ->
#endif
				if
				:: answered = at; assert(answered >= asked)	/* an answer seems newer than it is */
				:: asked = asked - PERIOD / 2; by = NOBODY	/* there is none */
				fi
#ifndef NO_TOKEN
			:: else
#endif
			fi
		}
	:: !won
	fi
#ifdef SEEN
	assert(!(killed && me == 2 && won && by == 2))	/* somebody else asks when the first has been killed */
#endif
}

proctype ghost(byte me, seen_asked, seen_by) {
	bool ignored;

	atomic { commit(me, seen_asked, seen_by, ignored) }
}

active proctype clock() {
	do
	:: now < END -> now++
	:: break
	od
}

init { atomic { run asker(1); run asker(2); run asker(3) } }
