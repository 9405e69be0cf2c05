/* Deactivation by pending lists, collect at the task's end, and loops over a pool by epoch.
 *
 * Two pools, one below the other: `root` links cells of the pool above, each slot of which has one link to
 * the pool below. Workers activate cells (both levels, then store in the inner one), give up outer cells and
 * inner cells, all of them at once; a walker visits the inner cells that were active when the task began.
 * Then one worker collects, and everything must be sound: see pool.pml. What a worker stored in a cell that
 * nobody gives up is there in the end. No store lands in another cell, or in slot 0, through which all
 * inactive cells are read: a store finds its cell anew after activating it, and must test what it finds. The
 * walker visits each cell of the set at entry once, at its coordinate, and no other.
 *
 * A slot is taken and given back in one step here: pool.pml shows that those are as good as one. Slot
 * numbers of the inner pool go on behind the outer one's: the metadata of both are in the same arrays.
 *
 * Weak memory. What pool.pml says, and:
 *  - unlink reads the link [relaxed] only to leave early; the exchange decides who retires the slot: one
 *    location, one winner. Its acquire orders retire's store to `next` behind the one in prepare.
 *  - retire stores `next` [relaxed] and exchanges `pending` [release]. Only pushes happen while the task runs,
 *    so no head comes back (no ABA, no tag), and all are read-modify-writes: collect's exchange [acquire]
 *    sees every `next`; the end of the task orders the same once more.
 *  - A worker that read the link before it went may use the slot until the task ends, and a store of his may
 *    come late by any order of memory: nobody gets that slot before the task's end, which orders all.
 *  - The walker reads `state` [acquire] of slots that others fill. A state of an earlier epoch was written
 *    before the task began and stays until collect, as do the coordinates; every value that can be met
 *    while a slot is taken or given back is 0 or the present epoch, so an old or a new one decides alike.
 *    Coordinates are plain: they are read only beside an earlier epoch, and written only beside 0.
 *
 * check a walker, two workers with one change each | -DOPS=1 -DLINKS=2 -DWALKER
 * check a walker, two workers with two changes each | -DOPS=2 -DLINKS=1 -DWALKER
 * check two workers with two changes each, of two cells | -DOPS=2 -DLINKS=2
 * check three workers with one change each | -DWORKERS=3 -DOPS=1 -DLINKS=2 -DFEW_STARTS
 * ends  every loop ends | -DOPS=1 -DLINKS=2
 * fault a slot is free at once | -DOPS=2 -DLINKS=2 -DINNER_ONLY -DFEW_STARTS -DFREE_AT_ONCE | content[s
 * fault a store does not test what it finds | -DOPS=1 -DLINKS=1 -DNO_TEST | slot != 0
 * fault unlinked by a plain store | -DOPS=1 -DLINKS=1 -DPLAIN_UNLINK | (listed[s] == 0) && (s <
 * fault pending pushed by a plain store | -DOPS=1 -DLINKS=2 -DPLAIN_PUSH | parents[s] + listed[s]
 * fault the inner pool is collected first | -DOPS=1 -DLINKS=1 -DINNER_FIRST | pending[1] == 0
 * fault collect keeps what retired slots link | -DOPS=1 -DLINKS=1 -DKEEP_CHILDREN | parents[s] + listed[s]
 * fault the state goes at once | -DOPS=1 -DLINKS=1 -DWALKER -DSTATE_AT_ONCE | visited == entry
 * fault the epoch is not raised | -DOPS=1 -DLINKS=1 -DWALKER -DSAME_EPOCH | visited == entry
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#define OUTER 0
#define INNER 1
#define SLOTS (LINKS + WORKERS * OPS) /* of a pool: each change takes one slot at most */
#define first_of(pool) (1 + (pool) * SLOTS)

byte root[LINKS];           /* links of the outer pool */
byte inside[SLOTS + 1];     /* in slot s of the outer pool: its link to the inner one */
byte head[2];               /* free lists */
byte pending[2];            /* retired slots */
byte high[2];               /* slots handed out */
byte used[2];
byte next[2 * SLOTS + 1], state[2 * SLOTS + 1], coordinate[2 * SLOTS + 1];
byte content[2 * SLOTS + 1]; /* of an inner slot: bit l = stored as cell l; of any: GARBAGE = not filled */
byte stored, given_up;      /* bit l: somebody stored in cell l, somebody gave it up */
byte entry, visited;        /* bit l: cell l was active at the start, was visited */
#define GARBAGE 128
#define AMBIENT 0 /* all background, all links 0; never written */
#define EARLIER 1
#ifdef SAME_EPOCH
#define EPOCH 1
#else
#define EPOCH 2
#endif
hidden byte parents[2 * SLOTS + 1], listed[2 * SLOTS + 1];

/* Its retired slots of this task aside, `slot` is nobody else's. */
inline take(pool) {
  d_step {
    if
    :: head[pool] -> slot = head[pool]; head[pool] = next[slot];
    :: else -> slot = first_of(pool) + high[pool]; high[pool]++; assert(high[pool] <= SLOTS);
    fi;
    content[slot] = GARBAGE;
  }
}

/* metate_view_claim; the slot of the link in `slot`. */
inline claim(link, pool, l) {
  slot = link;
  if
  :: slot -> skip
  :: else ->
     take(pool);
     d_step {
       content[slot] = 0; coordinate[slot] = l;
       if
       :: pool == OUTER -> inside[slot] = 0;
       :: else -> skip;
       fi
     }
     state[slot] = EPOCH;
     d_step {
       if
       :: link == 0 -> link = slot; used[pool]++; h = 0;
       :: else -> h = link;
       fi
     }
     if
     :: h ->
        state[slot] = 0;
        d_step { next[slot] = head[pool]; head[pool] = slot; slot = h; h = 0; }
     :: else -> skip
     fi
  fi
}

/* metate_view_retire */
inline retire(pool) {
#ifdef STATE_AT_ONCE
  state[slot] = 0;
#endif
#ifdef FREE_AT_ONCE
  d_step { state[slot] = 0; used[pool]--; next[slot] = head[pool]; head[pool] = slot; }
#else
  h = pending[pool];
  do
  :: true ->
     next[slot] = h;
     d_step {
       if
#ifdef PLAIN_PUSH
       :: true -> pending[pool] = slot; done = 1;
#else
       :: pending[pool] == h -> pending[pool] = slot; done = 1;
       :: else -> h = pending[pool];
#endif
       fi
     }
     if
     :: done -> break
     :: else -> skip
     fi
  od;
  atomic { done = 0; h = 0; }
#endif
}

/* metate_view_unlink */
inline unlink(link, pool) {
  slot = link;
  if
  :: slot == 0 -> skip
  :: else ->
#ifdef PLAIN_UNLINK
     link = 0;
#else
     d_step { slot = link; link = 0; }
#endif
     if
     :: slot == 0 -> skip
     :: else -> retire(pool)
     fi
  fi
}

proctype worker() {
  byte l, slot, outer, h, done, todo = OPS;
  do
  :: todo == 0 -> break
  :: else ->
     atomic {
       todo--;
       if
       :: l = 0
#if LINKS > 1
       :: l = 1
#endif
       fi
     }
     if
     :: true -> /* activate the cell and store in it */
        claim(root[l], OUTER, l);
        atomic { outer = slot; slot = 0; }
        claim(inside[outer], INNER, l);
        outer = root[l]; /* a store finds its cell anew */
        slot = inside[outer];
        d_step {
          if
#ifndef NO_TEST
          :: slot == 0 -> skip; /* given up meanwhile: the store is lost */
#endif
          :: else ->
             assert(slot != AMBIENT);
             assert(!(content[slot] & GARBAGE));
             content[slot] = content[slot] | (1 << l);
             stored = stored | (1 << l);
          fi;
          outer = 0;
        }
#ifndef INNER_ONLY
     :: true -> /* give up the outer cell */
        atomic { given_up = given_up | (1 << l); }
        unlink(root[l], OUTER)
#endif
     :: true -> /* give up the inner cell */
        atomic { given_up = given_up | (1 << l); outer = root[l]; }
        if
        :: outer -> unlink(inside[outer], INNER); outer = 0
        :: else -> skip
        fi
     fi;
     atomic { l = 0; slot = 0; }
  od
}

/* A loop over the inner pool: slots of earlier epochs. */
proctype walker() {
  byte s = first_of(INNER), was;
  do
  :: s >= first_of(INNER) + high[INNER] -> break
  :: else ->
     was = state[s];
     d_step {
       if
       :: was == EARLIER ->
          assert((visited >> coordinate[s] & 1) == 0);
          visited = visited | (1 << coordinate[s]);
       :: else -> skip;
       fi;
       was = 0; s++;
     }
  od
}

/* One pool: what its retired slots link is retired, they themselves are free. */
inline collect(pool) {
  s = pending[pool]; pending[pool] = 0;
  for (n : 1 .. SLOTS) {
    if
    :: s == 0 -> skip;
    :: else ->
       h = next[s];
#ifndef KEEP_CHILDREN
       if
       :: pool == OUTER && inside[s] ->
          next[inside[s]] = pending[INNER]; pending[INNER] = inside[s]; inside[s] = 0;
       :: else -> skip;
       fi;
#endif
       state[s] = 0; next[s] = head[pool]; head[pool] = s; used[pool]--; s = h;
    fi
  }
}

inline count_free(pool) {
  s = head[pool];
  do
  :: s == 0 -> break;
  :: else -> assert(listed[s] == 0 && s < first_of(pool) + high[pool]); listed[s] = 1; s = next[s];
  od
}

inline check_sound() {
  d_step {
    for (s : 1 .. 2 * SLOTS) {
      parents[s] = 0; listed[s] = 0;
    }
    assert(pending[OUTER] == 0 && pending[INNER] == 0);
    count_free(OUTER);
    count_free(INNER);
    for (l : 0 .. LINKS - 1) {
      h = root[l];
      if
      :: h ->
         parents[h]++; assert(coordinate[h] == l && state[h]); used[OUTER]--;
         s = inside[h];
         if
         :: s ->
            parents[s]++; assert(coordinate[s] == l && state[s]); used[INNER]--;
            assert((content[s] & ~(1 << l)) == 0);
         :: else -> skip;
         fi
      :: else -> s = 0;
      fi;
      /* a cell that nobody gave up has what was stored in it */
      if
      :: given_up >> l & 1 || (stored >> l & 1) == 0 -> skip;
      :: else -> assert(s && content[s] == 1 << l);
      fi
    }
    for (s : 1 .. 2 * SLOTS) {
      if
      :: s < first_of(INNER) -> n = (s < first_of(OUTER) + high[OUTER]);
      :: else -> n = (s < first_of(INNER) + high[INNER]);
      fi;
      assert(parents[s] + listed[s] == n);
      assert(state[s] == 0 || parents[s] == 1);
    }
    assert(used[OUTER] == 0 && used[INNER] == 0);
    assert(visited == entry);
  }
}

/* Each cell inactive, with its outer slot alone, or with both. */
inline any_start() {
  for (l : 0 .. LINKS - 1) {
    if
#ifndef FEW_STARTS
    :: skip
    :: n = 1
#endif
    :: n = 2
    fi;
    d_step {
      if
      :: n ->
         high[OUTER]++; used[OUTER]++; s = high[OUTER];
         root[l] = s; state[s] = EARLIER; coordinate[s] = l;
      :: else -> skip;
      fi;
      if
      :: n == 2 ->
         h = first_of(INNER) + high[INNER]; high[INNER]++; used[INNER]++;
         inside[s] = h; state[h] = EARLIER; coordinate[h] = l;
         entry = entry | (1 << l);
      :: else -> skip;
      fi;
      n = 0; s = 0; h = 0;
    }
  }
}

init {
  byte l, n, s, h;
  atomic {
    any_start();
    l = 0;
    for (n : 1 .. WORKERS) {
      run worker();
    }
    n = 0;
#ifdef WALKER
    run walker();
#else
    visited = entry;
#endif
  }
  _nr_pr == 1;
  d_step {
#ifdef INNER_FIRST
    collect(INNER);
    collect(OUTER);
#else
    collect(OUTER);
    collect(INNER);
#endif
    h = 0;
  }
  check_sound()
}
