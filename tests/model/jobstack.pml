/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The protocol of docs/DESIGN.md as a model for spin: claim, close, lease, fence and recovery, with what may go wrong
 * between a worker and the database.  "The model" there says what it leaves out; tests/model/check runs it.
 *
 * What spin holds, in every state that can be reached, whatever the order of events:
 *   - each entry is in exactly one place: a span, one claim, or over (done, dead or cancelled);
 *   - no attempt gets two outcomes;
 *   - what is claimed is in the hands of somebody who can still be given up, so that nothing is lost for good;
 *   - a worker whose step is settled knows just what it has, and none is told that it was given up when it was not;
 *   - with -DASKS: what was to be killed, and its worker died, is dead;
 *   - no two commands run on one entry, but beside one that nobody could stop (SCRIPT);
 *   - with -DLIVE: every entry is over in the end, if one worker keeps its lease and commands end.
 *
 * A process that is slow, stopped or swapped out needs nothing of its own here: between any two steps of one process
 * anything may happen.  Only the end of its command is bound to time: see `tick`.
 *
 * NO_FENCE and its like are mutations: each takes one thing out of the protocol, and spin has to find what breaks.
 * Where `can_happen` stands, the model must be able to get to. */

/* From the command line: W workers (2 or 3), each of which looks at the others, too; LEASE in ticks of the clock; CUTS
 * and KILLS, how often a connection breaks and a worker is killed; SCRIPT, the worker whose command nobody stops (a
 * script's pop, or one frozen with its keeper), or W; BRIEF, without what only ends early; AHEAD, with pops from
 * shards, and of one more entry while a command runs; CANCEL, with a person who cancels the first entry, and requeues
 * it. */
#define N	2		/* entries */
#define TRIES(e) (2 - (e))	/* failed or lost so often, it is dead: the second one at once */
#define ALL	((1 << N) - 1)
#define NOTHING	N
#define SHARD	3	/* for a pop: one entry, and not the first if there are two */
#define NOBODY	3
#define has(set, e)	((set >> (e)) & 1)	/* sets are bits */
#ifndef SEEN
#define SEEN	0
#endif
#define can_happen(n)	assert(n != SEEN)

/* What the database has.  Nothing is ever asked of seq but whether it still equals a copy somewhere: so the model keeps
 * differences. */
typedef entry_rows {
	unsigned span : 2 = 1;		/* in how many spans it stands */
	unsigned attempt : 2 = 1;	/* its present or next attempt */
	unsigned outcomes : 3;		/* the attempts that have an outcome */
	unsigned over : 2		/* done, dead or cancelled */
};
typedef worker_row {
	unsigned claim : N;	/* what is open in its claims */
	bool ended;
#ifdef ASKS
	unsigned asked : N;	/* what it is to kill */
#endif
	unsigned ahead : 2;	/* seq in the row, less the worker's own */
	unsigned silent : 2	/* ticks since seq moved: so long somebody may have watched it */
};
typedef packet { unsigned done : N; unsigned fail : N; unsigned back : N; unsigned pop : 2; bool bye };	/* of a step */
typedef worker {
	unsigned step : 2;	/* see below */
	bool again, matched;	/* the step is repeated; its answer: the compare-and-set matched, */
	unsigned got : N;	/* and what was popped */
	unsigned hands : N;	/* what it has, */
	unsigned did : N;	/* what of that has ended, */
	unsigned runs : 2 = NOTHING;	/* what its command runs on, */
	bool wild;		/* though the lease is over */
	unsigned age : 2;	/* ticks since the last successful step was sent: the lease, as the worker counts it */
	unsigned since : 2;	/* ticks since the present step was sent */
	bool gone;		/* the process is no more */
	unsigned target : 2 = NOBODY;	/* the worker that it declares dead; */
	bool same;		/* his seq is still what it saw; */
#ifdef ASKS
	unsigned asked : N;	/* what he was to kill, when it was looked at */
#endif
	unsigned loot : N	/* what is in his claims */
};
typedef stray { bool there, same };	/* a first try that is still on its way when its connection breaks */
#define IDLE	 0	/* step: none; */
#define SENT	 1	/* under way; */
#define ANSWERED 2	/* the server ran it, and the answer is not read yet; */
#define CUT	 3	/* without an answer: it is repeated as it was */

entry_rows entry[N];
worker_row row[W];
worker me[W];
packet mine[W], ghosts[W];
stray ghost[W];
byte cuts = CUTS, kills = KILLS;
#ifdef ASKS
byte asks = 1;		/* how often somebody asks for all that a worker has */
#define to_kill(w, e)	has(me[w].asked, e)
#ifdef NO_ASK_GUARD
#define all_known(w, v)	true
#else
#define all_known(w, v)	(me[w].asked == row[v].asked)
#endif
#else
#define to_kill(w, e)	false
#define all_known(w, v)	true
#endif
hidden byte i, j, k, took, ok;

#define ready		(entry[0].span + entry[1].span > 0)
#define finished	(entry[0].over + entry[1].over == N)
#define free(w)		(!me[w].gone && me[w].step == IDLE && me[w].target == NOBODY)
#define unstarted(w)	(me[w].hands & ~(me[w].did | mine[w].back | (1 << me[w].runs)) & ALL)
#ifdef EARLY
#define WATCH (LEASE - 1)
#else
#define WATCH LEASE
#endif
/* The proofs of death: the process and its command are gone; or it was silent for a whole lease. */
#define dead(v)	(!row[v].ended && ((me[v].gone && me[v].runs == NOTHING) || row[v].silent >= WATCH))
#define other(w, d)	((w + d) % W)
#define sees_dead(w, d)	(other(w, d) != w && dead(other(w, d)))
#ifdef LIVE	/* the first worker keeps its lease, and all do first things first */
#define in_time		(me[0].age + 1 < LEASE && me[0].since + 1 < LEASE && row[0].silent + 1 < LEASE)
#define may_rest(w)	(!sees_dead(w, 1) && !sees_dead(w, 2))
#else
#define in_time		true
#define may_rest(w)	true
#endif

inline set(p, well, ill, give, want, end) { p.done = well; p.fail = ill; p.back = give; p.pop = want; p.bye = end }

inline balance() {	/* the ledger balances */
	for (i : 0 .. N - 1) {
		k = entry[i].span + entry[i].over;
		for (j : 0 .. W - 1) {
			assert(!row[j].ended || row[j].claim == 0);
			k = k + has(row[j].claim, i)
		}
		assert(k == 1)
	}
}

inline outcome(e) {	/* a row for the attempt; there must be none */
	assert(!has(entry[e].outcomes, entry[e].attempt));
	entry[e].outcomes = entry[e].outcomes | (1 << entry[e].attempt)
}

inline try_again(e) {	/* failed or lost: back to a span, or dead */
	outcome(e);
	if
	:: entry[e].attempt < TRIES(e) -> entry[e].attempt++; entry[e].span++
	:: else -> entry[e].over++
	fi
}

/* seq moved: who carries an older copy of it can't match any more, changes nothing, and so can be forgotten. */
inline no_copy_fits(w) {
	for (i : 0 .. W - 1) {
		me[i].same = me[i].same && me[i].target != w;
#ifndef NO_GUARD
		me[i].target = (me[i].target == w -> NOBODY : me[i].target)
#endif
	}
	ghost[w].same = 0;
#ifndef NO_FENCE
	ghost[w].there = 0; set(ghosts[w], 0, 0, 0, 0, 0)
#endif
}

/* A step in the server: the fence, what is closed, the pop, what goes back; ok and took are its answer. */
inline transaction(w, p, equal) {
	took = 0;
#ifdef NO_FENCE
	ok = 1;
#else
	ok = equal && !row[w].ended;
#endif
	if
	:: ok ->
		row[w].ahead++;
		row[w].silent = 0;
		row[w].claim = row[w].claim & ~(p.done | p.fail | p.back);
#ifdef ASKS
		row[w].asked = row[w].asked & row[w].claim;
#endif
		j = (p.pop == SHARD -> 1 : p.pop);
		k = (p.pop == SHARD && entry[0].span > 0 && entry[1].span > 0 -> 1 : 0);
		for (i : 0 .. N - 1) {
			if
			:: j > 0 && i >= k && entry[i].span > 0 -> j--; entry[i].span--; took = took | (1 << i);
				if :: k > 0 -> can_happen(9) :: else fi
			:: else
			fi;
			if
			:: has(p.done, i) -> outcome(i); entry[i].over++;
				if :: entry[i].attempt > 1 -> can_happen(5) :: else fi	/* done by the second attempt */
			:: has(p.fail, i) -> try_again(i)
			:: has(p.back, i) -> entry[i].span++
			:: else
			fi
		}
		row[w].claim = row[w].claim | took;
		row[w].ended = row[w].ended || p.bye;
		for (i : 0 .. W - 1) { if :: me[i].target == w -> can_happen(1) :: else fi }	/* he lives */
		no_copy_fits(w);
		balance()
	:: else
	fi
}

/* Recovery in the server: the dead worker's row is ended if it is still at that seq; then what is in its claims is lost. */
inline recover(w, v) {
#ifdef NO_GUARD
	ok = 1;
#else
	ok = me[w].same && !row[v].ended && all_known(w, v);
	me[w].loot = row[v].claim;	/* as when it was looked at, if seq is the same */
#endif
	if
	:: ok ->
		row[v].ended = 1;
		row[v].silent = 0;
		no_copy_fits(v);
		row[v].claim = row[v].claim & ~me[w].loot;
		for (i : 0 .. N - 1) {
			if
			:: has(me[w].loot, i) && to_kill(w, i) -> outcome(i); entry[i].over++; can_happen(8)
			:: has(me[w].loot, i) && !to_kill(w, i) -> try_again(i)
			:: else
			fi;
#ifdef ASKS
			assert(!has(row[v].asked, i) || entry[i].over);
#endif
		}
#ifdef ASKS
		row[v].asked = 0;
#endif
		balance()
	:: else
	fi;
	me[w].target = NOBODY; me[w].same = 0; me[w].loot = 0
}

/* The process ends.  What was in its memory is no more; what it has sent may still arrive; its command runs on. */
inline leave(w) {
	me[w].gone = 1; me[w].hands = 0; me[w].did = 0; me[w].target = NOBODY; me[w].same = 0; me[w].loot = 0;
	me[w].since = 0; me[w].got = 0; me[w].matched = 0; me[w].again = 0;
	if
	:: me[w].step == SENT
	:: else -> me[w].step = IDLE; set(mine[w], 0, 0, 0, 0, 0)
	fi;
	me[w].age = (me[w].runs == NOTHING -> 0 : me[w].age)
}

inline stop(w) { me[w].runs = NOTHING; me[w].wild = 0 }

/* The step is known to be committed.  The lease runs from when it was sent. */
inline settled(w) {
	me[w].hands = (me[w].hands & ~(mine[w].done | mine[w].fail | mine[w].back)) | me[w].got;
	me[w].did = me[w].did & me[w].hands;
	me[w].age = (me[w].hands -> me[w].since : 0);
	row[w].ahead--;
	assert(row[w].ended || me[w].hands == row[w].claim);
	me[w].step = IDLE; me[w].since = 0; me[w].got = 0; me[w].matched = 0; me[w].again = 0;
	if
	:: mine[w].bye -> leave(w)
	:: else -> set(mine[w], 0, 0, 0, 0, 0)
	fi
}

inline read_answer(w) {
	if
	:: me[w].gone -> me[w].step = IDLE; leave(w)	/* nobody reads it */
	:: !me[w].gone && me[w].matched -> settled(w)
	:: !me[w].gone && !me[w].matched && row[w].ended && !(mine[w].bye && row[w].ahead == 1) ->
		if :: me[w].wild -> can_happen(2) :: else fi;	/* a script, or one that woke, too late */
		me[w].step = IDLE; stop(w); leave(w)	/* fenced.  (An end of its own shows by the token.) */
	:: else ->	/* seq is one higher: the first try had arrived; what it popped is read back */
		assert(me[w].again && row[w].ahead == 1);
		me[w].got = row[w].claim & ~me[w].hands;
		if :: me[w].got -> can_happen(3) :: else fi;
		settled(w)
	fi
}

inline declare_dead(w, v) { me[w].target = v; me[w].same = 1;
#ifdef ASKS
	me[w].asked = row[v].asked;
#endif
#ifdef NO_GUARD
	me[w].loot = row[v].claim
#endif
}

#define send(w, well, ill, give, want, end) set(mine[w], well, ill, give, want, end); me[w].step = SENT

proctype ledger(byte w)
{
	byte v;
end:	do
	/* a step: what has ended, well or not; what is ready, one or a batch; perhaps what was not started goes back */
	:: d_step { free(w) && !me[w].hands && ready -> send(w, 0, 0, 0, 1, 0) }
	:: d_step { free(w) && !me[w].hands && ready -> send(w, 0, 0, 0, N, 0) }
	:: d_step { free(w) && me[w].did -> send(w, me[w].did, 0, 0, ready, 0) }
	:: d_step { free(w) && me[w].did -> send(w, 0, me[w].did, 0, ready, 0) }
	:: d_step { free(w) && me[w].hands && !me[w].did && me[w].age && may_rest(w) -> send(w, 0, 0, 0, 0, 0) }
#ifdef AHEAD	/* one from a shard, which is not the first; one more while the command runs */
	:: d_step { free(w) && !me[w].hands && ready -> send(w, 0, 0, 0, SHARD, 0) }
	:: d_step { free(w) && me[w].hands && !unstarted(w) && ready -> send(w, 0, 0, 0, 1, 0) }
	:: d_step { free(w) && me[w].did && ready -> send(w, me[w].did, 0, 0, SHARD, 0) }
#endif
#ifdef LIVE
	:: d_step { free(w) && !me[w].hands && !ready && row[w].silent && may_rest(w) -> send(w, 0, 0, 0, 0, 0) }
#endif
#ifndef BRIEF
	:: d_step { free(w) && unstarted(w) -> send(w, me[w].did, 0, unstarted(w), 0, 0) }
	:: d_step { free(w) && me[w].runs == NOTHING -> send(w, me[w].did, 0, unstarted(w), 0, 1) }	/* its end */
#endif
	:: d_step { me[w].step == SENT -> transaction(w, mine[w], row[w].ahead == 0);
		me[w].matched = ok; me[w].got = took; me[w].step = ANSWERED }
	:: d_step { me[w].step == ANSWERED -> read_answer(w) }

	/* the connection breaks: the answer is lost, or the packet; or the packet is still on its way */
	:: d_step { cuts && !me[w].gone && me[w].step == ANSWERED -> cuts--;
		me[w].matched = 0; me[w].got = 0; me[w].step = CUT }
	:: d_step { cuts && !me[w].gone && me[w].step == SENT -> cuts--; me[w].step = CUT }
	:: d_step { cuts && !me[w].gone && me[w].step == SENT && !ghost[w].there -> cuts--; me[w].step = CUT;
		ghost[w].there = 1; ghost[w].same = (row[w].ahead == 0);
		set(ghosts[w], mine[w].done, mine[w].fail, mine[w].back, mine[w].pop, mine[w].bye) }
	:: d_step { ghost[w].there -> transaction(w, ghosts[w], ghost[w].same);
		if :: ok && me[w].step == SENT -> can_happen(4) :: else fi;	/* overtaken */
		ghost[w].there = 0; ghost[w].same = 0; set(ghosts[w], 0, 0, 0, 0, 0) }
#ifdef READ_BACK	/* not there?  Then it never happened, and the next step may be another */
	:: d_step { me[w].step == CUT && row[w].ahead == 0 ->
		me[w].step = IDLE; me[w].since = 0; set(mine[w], 0, 0, 0, 0, 0) }
	:: d_step { me[w].step == CUT && row[w].ahead == 1 -> me[w].again = 1; read_answer(w) }
#else
	:: d_step { me[w].step == CUT -> me[w].again = 1; me[w].step = SENT;
#ifdef LATE_LEASE
		me[w].since = 0
#endif
		}
#endif
#ifndef NO_RECOVERY	/* somebody is dead: he is looked at, and then taken back from */
	:: d_step { free(w) && sees_dead(w, 1) -> v = other(w, 1); declare_dead(w, v); v = 0 }
	:: d_step { free(w) && sees_dead(w, 2) -> v = other(w, 2); declare_dead(w, v); v = 0 }
	:: d_step { me[w].target != NOBODY -> v = me[w].target; recover(w, v); v = 0 }
#endif
	od
}

proctype supervisor(byte w)
{
end:	do
#ifdef LATE_START
	:: d_step { me[w].runs == NOTHING && unstarted(w) ->
#else
	:: d_step { me[w].runs == NOTHING && unstarted(w) && me[w].age < LEASE ->
#endif
		me[w].runs = (has(unstarted(w), 0) -> 0 : 1);
		for (i : 0 .. W - 1) { assert(i == w || me[i].runs != me[w].runs || me[i].wild) } }
	:: d_step { me[w].runs != NOTHING && !me[w].gone -> me[w].did = me[w].did | (1 << me[w].runs); stop(w) }
	:: d_step { me[w].runs != NOTHING && me[w].gone -> stop(w); me[w].age = 0 }	/* the keeper */
#ifdef ASKS
	:: d_step { asks && row[w].claim && !row[w].ended -> asks--; row[w].asked = row[w].claim }
#endif
	:: d_step { w == W - 1 && kills && !me[w].gone -> kills--; leave(w) }	/* (they are alike: any will do) */
	od
}

#ifdef CANCEL
/* A cancel of the first entry: it looks which span has it, and at what attempt; then that span is cut, if it is still so.  Its
 * answer may be lost: the packet is sent twice.  Once cancelled, the entry may be requeued, which is another compare-and-set. */
bool cancelled;
proctype canceller()
{
	byte attempt, sent;
end:	do
	:: d_step { entry[0].span > 0 && sent == 0 -> attempt = entry[0].attempt; sent = 2 }
	:: d_step { sent > 0 -> sent--;
		if
#ifdef NO_SPAN
		:: true ->
#else
		:: entry[0].span > 0 && entry[0].attempt == attempt ->
#endif
			entry[0].span = 0; entry[0].over++; cancelled = 1;
			for (i : 0 .. W - 1) { if :: row[i].claim != 0 -> can_happen(6) :: else fi }	/* beside a worker */
			balance()
		:: else -> if :: has(row[0].claim | row[1].claim, 0) -> can_happen(7) :: else fi	/* popped meanwhile */
		fi;
		attempt = (sent -> attempt : 0) }
	:: d_step { cancelled -> entry[0].over--; entry[0].span++; balance(); cancelled = 0 }
	od
}
#endif

/* A tick.  No command lives to see its lease's end: its worker, or the keeper of one that is gone, stops it before. */
inline tick(w) {
	row[w].silent = row[w].silent + (!row[w].ended && !dead(w));
	me[w].since = me[w].since + (me[w].step != IDLE && !me[w].gone && me[w].since < LEASE);
	me[w].age = me[w].age + (me[w].age < LEASE && (me[w].hands || me[w].runs != NOTHING));
	if
	:: me[w].age == LEASE && me[w].runs != NOTHING && w == SCRIPT -> me[w].wild = 1
#ifndef NO_STOP
	:: me[w].age == LEASE && me[w].runs != NOTHING && w != SCRIPT -> stop(w); leave(w)
#endif
	:: else
	fi
}

proctype clock()
{
	byte w;
end:	do
	:: d_step { !finished && in_time -> for (w : 0 .. W - 1) { tick(w) } w = 0 }
	od
}

init {
	atomic {
		for (i : 0 .. W - 1) { run ledger(i); run supervisor(i) }
		run clock();
#ifdef CANCEL
		run canceller()
#endif
	}
}

#ifdef LIVE
ltl progress { <> finished }
#endif
