/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rate of starts (max_starts): workers, and one row with the time from which the next start is allowed.  A claim that is granted
 * may be started for D ticks from when its packet was sent, as the worker's own clock counts; D differs from claim to claim.  A worker
 * may be as slow as it likes, lose a reply, or be killed; the server's clock may be set back.  No N + 1 starts are ever closer than U.
 * docs/DESIGN.md ("The model") tells more; tests/model/check runs it.
 *
 * All times are kept as differences to the present, so the model has no end.
 *
 * With NO_BOUND a worker starts what it has, however late; with NO_MARGIN and NO_EXTRA the time that it may take is not added to the
 * time between claims; with LATE it is counted from the second try of a packet whose reply was lost; with NO_LOCK the row is read, and
 * written later; with FREE a time that is too far ahead, since the clock was set back, allows a start at once. */
#define N 2
#define U 4
#define SHORT 2	/* D is one of these two */
#define LONG 4
#define BACK 7

#ifdef NO_MARGIN
#define INTERVAL (U / N)
#else
#define INTERVAL ((U + SHORT) / N)
#endif
#ifdef NO_EXTRA
#define EXTRA(d) 0
#else
#define EXTRA(d) (d - SHORT)
#endif
#define MOST (INTERVAL + LONG - SHORT)	/* no claim puts it further ahead */

byte ahead;			/* so many ticks until a start is allowed, by the server's clock */
byte since[N] = U;		/* ticks since the last starts, the newest first; U: that long ago, or longer */
byte age[2];		/* ticks since the packet was sent, or, after LONG, longer */
bool set_back, killed;
#ifdef SEEN
bool returned, healed;
#define NOTE(what) what = 1
#else
#define NOTE(what) skip
#endif

#ifdef FREE
#define ALLOWED (ahead == 0 || ahead > MOST)
#else
#define ALLOWED (ahead == 0)
#endif

inline write(d, won) {
	if
	:: won -> ahead = INTERVAL + EXTRA(d)
	:: !won && ahead > MOST -> ahead = MOST; NOTE(healed)
	:: else
	fi
}

proctype worker(byte me) {
	byte d;
	bool won;

	age[me] = LONG;
	do
	:: atomic { age[me] = 0; if :: d = SHORT :: d = LONG fi }	/* the packet is sent */
#ifdef NO_LOCK
		won = ALLOWED;
		atomic { write(d, won) }
#else
		atomic { won = ALLOWED; write(d, won) }
#endif
#ifdef LATE	/* without it, a reply that is lost only takes time: the second try finds the claim */
		if
		:: age[me] = 0
		:: true
		fi;
#endif
		if
		:: atomic { won && !killed -> killed = 1; break }
#ifdef NO_BOUND
		:: atomic { won ->
#else
		:: atomic { won && age[me] < d ->
#endif
			assert(since[N - 1] >= U);	/* else there are too many in that time */
#ifdef SEEN
			assert(!(returned && killed && healed));
#endif
			since[1] = since[0]; since[0] = 0; won = 0; d = 0; age[me] = LONG }
		:: atomic { won && age[me] >= d -> NOTE(returned); won = 0; d = 0 }	/* it goes back, and is claimed again */
		:: atomic { !won -> d = 0; age[me] = LONG }
		fi
	od;
	age[me] = LONG
}

active proctype clock() {
	byte i;

	do
	:: atomic {	/* a tick */
		ahead = (ahead > 0 -> ahead - 1 : 0);
		for (i : 0 .. N - 1) { since[i] = (since[i] < U -> since[i] + 1 : U) }
		for (i : 0 .. 1) { age[i] = (age[i] < LONG -> age[i] + 1 : LONG) }
		i = 0 }
	:: atomic { !set_back -> set_back = 1; ahead = ahead + BACK }
	od
}

init { atomic { run worker(0); run worker(1) } }
