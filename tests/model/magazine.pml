/* Where slots come from: magazines of workers, the free list, high water; runs that move into magazines.
 *
 * The code is metate_view_take, _refill, _search, _give_back and _unload of protocol/metate/protocol/slots.h. What a
 * slot holds and how it is published is pool.pml's; here a slot is linked in one step, or goes back. Workers
 * share magazines where there are more of them (MAGAZINES). Every run starts with any number of slots on the free
 * list, in ascending or descending order, lets every worker activate any cells, unloads the magazines, and asks
 * for a sound pool: a slot is linked once, or on the free list once, or above high water; none is lost. And: a
 * need of at most `capacity` never finds nothing, though slots lie in other workers' magazines or in
 * their hands.
 *
 * Weak memory. What pool.pml says of the free list's head, its tag included, holds of the magazines' heads, and:
 *  - A run. Its `next` are read [relaxed] behind a head that was read [acquire]; while the head's word stays as it
 *    is nobody has popped or pushed, so all of them are the pushed ones: then the exchange succeeds, else
 *    nothing of it is used. The worker's stores to `next` of its own run, then push's exchange [release].
 *  - Nothing found. Moves are counted when they begin and when they have ended, by read-modify-writes [seq_cst];
 *    a search reads `ended`, then `begun` [seq_cst], looks at all magazines, at high water and at the free list,
 *    and reads `begun` again. If all three are equal no run was in anybody's hands in between, and nothing was
 *    put into a magazine, so those that were seen empty were so still when the free list was: at that
 *    moment all slots were linked, or in the hands of another worker, one each. As pool.pml argues that is a
 *    need of more than the capacity. The searcher reads the magazines' heads [acquire] after `begun`: a push that
 *    he does not see is of a move whose end he does not see either.
 *  - Unloading, `loaded`: when the task is over.
 * A search waits while another worker's run is between the free list and his magazine: a few instructions, in which
 * he waits for nobody (`progress` below). That is the one place of the protocol where a worker waits, and he
 * comes there only when no slot is to be seen.
 *
 * check two workers, magazines of their own | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2
 * check two workers share a magazine | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=1
 * check three workers, two magazines | -DWORKERS=3 -DOPS=1 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DMOST_FREE=3
 * check a need of all | -DWORKERS=2 -DOPS=3 -DLINKS=3 -DCAPACITY=3 -DMAGAZINES=2 -DMOST_FREE=3
 * check need above capacity | -DWORKERS=2 -DOPS=2 -DLINKS=4 -DCAPACITY=1 -DMAGAZINES=2
 * ends  every loop ends | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DMOST_FREE=1
 * fault a search does not wait for moves | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DNO_WAIT | need > 2
 * fault moves are not counted while they go on | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DCOUNT_LATE | need > 2
 * fault other workers' magazines are left alone | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DNO_SEARCH | need > 2
 * fault a run is taken by a plain store | -DWORKERS=2 -DOPS=1 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DPLAIN_RUN | parents[s] + listed[s]
 * fault a run that was not got goes into a magazine | -DWORKERS=2 -DOPS=2 -DLINKS=4 -DCAPACITY=2 -DMAGAZINES=1 -DSTALE_LAST | parents[s] + listed[s]
 * fault a magazine is filled by a plain store | -DWORKERS=3 -DOPS=1 -DLINKS=3 -DCAPACITY=5 -DMAGAZINES=1 -DPLAIN_FILL | parents[s] + listed[s]
 * fault magazines are not unloaded | -DWORKERS=2 -DOPS=1 -DLINKS=2 -DCAPACITY=2 -DMAGAZINES=2 -DKEEP_LOADED | parents[s] + listed[s]
 */
#define PHYSICAL (CAPACITY + WORKERS)
#ifndef RUN
#define RUN 3 /* slots that are moved at once: more than the slack makes up for */
#endif
#ifndef MOST_FREE
#define MOST_FREE PHYSICAL
#endif
#define FREE MAGAZINES /* the free list is the last stack */
#define NO_STACK 9

byte link[LINKS];                      /* slot numbers, 0 = inactive */
byte head[MAGAZINES + 1], tag[MAGAZINES + 1];
byte next[PHYSICAL + 1];
byte high_water, begun, ended;
byte wanted, missed; /* bit l = some worker wants cell l, was told that there is no slot for it */
hidden byte parents[PHYSICAL + 1], listed[PHYSICAL + 1]; /* of the last step alone */

/* metate_view_pop of stack k; `slot` or 0 */
inline pop(k) {
  d_step { h = head[k]; t = tag[k]; }
  do
  :: h == 0 -> break
  :: else ->
     n = next[h];
     d_step {
       if
       :: head[k] == h && tag[k] == t -> slot = h; head[k] = n; tag[k]++; h = 0;
       :: else -> h = head[k]; t = tag[k];
       fi;
       n = 0;
     }
  od;
  atomic { h = 0; t = 0; }
}

/* metate_view_push of first .. last on stack k */
inline push(k, first, last) {
  d_step { h = head[k]; t = tag[k]; }
  do
  :: next[last] = h;
     d_step {
       if
#ifdef PLAIN_FILL
       :: true -> head[k] = first; tag[k]++; n = 1;
#else
       :: head[k] == h && tag[k] == t -> head[k] = first; tag[k]++; n = 1;
       :: else -> h = head[k]; t = tag[k];
#endif
       fi
     }
     if
     :: n -> break
     :: else -> skip
     fi
  od;
  atomic { h = 0; t = 0; n = 0; }
}

/* metate_view_pop_run: slot .. last */
inline pop_run() {
  d_step { h = head[FREE]; t = tag[FREE]; }
  do
  :: h == 0 -> break
  :: else ->
     n = h;
     do
     :: n == 0 || m == RUN -> break
     :: else -> last = n; n = next[n]; m++
     od;
     m = 0;
     d_step {
       if
#ifdef PLAIN_RUN
       :: true -> slot = h; head[FREE] = n; tag[FREE]++; h = 0;
#else
       :: head[FREE] == h && tag[FREE] == t -> slot = h; head[FREE] = n; tag[FREE]++; h = 0;
       :: else -> h = head[FREE]; t = tag[FREE];
#endif
       fi;
       n = 0;
     }
  od;
  atomic { h = 0; t = 0; }
}

/* metate_view_raise: slot .. last */
inline raise(most) {
  n = high_water;
  do
  :: slot || n >= PHYSICAL -> break
  :: else ->
     d_step {
       if
       :: high_water == n -> slot = n + 1; high_water = (n + most < PHYSICAL -> n + most : PHYSICAL); last = high_water;
       :: else -> n = high_water;
       fi
     }
  od;
  atomic {
    if
    :: slot && last > slot -> /* the worker's own until they are pushed */
       for (n : slot .. last - 1) {
         next[n] = n + 1;
       }
    :: else -> skip;
    fi;
    n = 0;
  }
}

/* metate_view_refill */
inline refill() {
#ifndef COUNT_LATE
  begun++;
#endif
  pop_run();
  if
  :: slot -> skip
  :: else -> raise(RUN)
  fi;
  if
#ifdef STALE_LAST
  :: slot != last ->
#else
  :: slot && slot != last -> /* `last` of a run that was not got means nothing */
#endif
     rest = next[slot];
     push(me % MAGAZINES, rest, last);
     rest = 0
  :: else -> skip
  fi;
#ifdef COUNT_LATE
  begun++;
#endif
  atomic { ended++; last = 0; }
}

/* metate_view_search */
inline search() {
  do
  :: true ->
     e = ended;
     b = begun;
#ifndef NO_SEARCH
     do
     :: slot || m == MAGAZINES -> break
     :: else -> pop(m); m++
     od;
     m = 0;
#endif
     /* The code looks at high water again: it was at its end when refill found nothing, and stays there. */
     assert(slot || high_water >= PHYSICAL);
     if
     :: slot -> skip
     :: else -> pop(FREE)
     fi;
     if
     :: slot -> break
#ifdef NO_WAIT
     :: else -> break
#else
     :: else ->
        if
        :: b == e && begun == b -> break
        :: else -> progress_another_moves: skip
        fi
#endif
     fi
  od;
  atomic { b = 0; e = 0; }
}

inline activate() {
  slot = link[l];
  if
  :: slot -> slot = 0
  :: else ->
     pop(me % MAGAZINES);
     if
     :: slot -> skip
     :: else -> refill()
     fi;
     if
     :: slot -> skip
     :: else -> search()
     fi;
     if
     :: slot == 0 ->
        if
        :: link[l] -> skip
        :: else -> missed = missed | (1 << l)
        fi
     :: else ->
        d_step {
          if
          :: link[l] == 0 -> link[l] = slot; slot = 0;
          :: else -> skip;
          fi
        }
        if
        :: slot -> push(FREE, slot, slot); slot = 0
        :: else -> skip
        fi
     fi
  fi
}

proctype worker(byte me) {
  byte l, slot, last, rest, h, t, n, m, b, e, asked, todo = OPS;
  do
  :: todo == 0 -> break
  :: else ->
     atomic {
       if
       :: !(asked & 1) -> l = 0
#if LINKS > 1
       :: !(asked & 2) -> l = 1
#endif
#if LINKS > 2
       :: !(asked & 4) -> l = 2
#endif
#if LINKS > 3
       :: !(asked & 8) -> l = 3
#endif
       fi;
       todo--;
       asked = asked | (1 << l);
       wanted = wanted | (1 << l);
     }
     activate();
     l = 0
  od
}

/* metate_view_unload */
inline unload() {
  do
  :: true ->
     best = 0;
     for (s : 1 .. MAGAZINES - 1) {
       if
       :: head[s] > head[best] -> best = s;
       :: else -> skip;
       fi
     }
     /* one slot at a time here, the last one of the run first */
     s = head[best]; before = 0;
     do
     :: s == 0 || next[s] == 0 -> break;
     :: else -> before = s; s = next[s];
     od;
     if
     :: s == 0 -> break;
     :: else -> skip;
     fi;
     if
     :: before -> next[before] = 0;
     :: else -> head[best] = 0;
     fi;
     if
     :: s == high_water -> high_water--;
     :: else -> next[s] = head[FREE]; head[FREE] = s;
     fi
  od
}

inline check_sound() {
  for (s : 1 .. PHYSICAL) {
    parents[s] = 0; listed[s] = 0;
  }
  s = head[FREE];
  do
  :: s == 0 -> break;
  :: else ->
     assert(s <= high_water && listed[s] == 0);
     listed[s] = 1; s = next[s];
  od;
  for (s : 0 .. LINKS - 1) {
    if
    :: link[s] -> parents[link[s]]++;
    :: else -> skip;
    fi
  }
  for (s : 1 .. PHYSICAL) {
    if
    :: s <= high_water -> assert(parents[s] + listed[s] == 1);
    :: else -> assert(parents[s] + listed[s] == 0);
    fi
  }
  for (s : 0 .. LINKS - 1) {
    need = need + ((wanted >> s) & 1);
    assert((link[s] != 0 || (missed >> s & 1)) == (wanted >> s & 1));
  }
  if
  :: missed -> assert(need > CAPACITY);
  :: else -> skip;
  fi
}

init {
  byte s, n, best, before, need, free;
  atomic {
    select(free : 0 .. MOST_FREE);
    if
    :: for (s : 1 .. free) { /* the highest at the top */
         next[s] = head[FREE]; head[FREE] = s;
       }
    :: for (s : 1 .. free) { /* the lowest */
         next[s] = (s < free -> s + 1 : 0);
       }
       head[FREE] = (free -> 1 : 0)
    fi;
    high_water = free;
    free = 0; s = 0;
    for (n : 0 .. WORKERS - 1) {
      run worker(n);
    }
    n = 0;
  }
  _nr_pr == 1;
  d_step {
#ifndef KEEP_LOADED
    unload();
#endif
    check_sound();
  }
}
