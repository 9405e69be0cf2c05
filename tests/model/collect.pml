/* Collecting on a device: all workers look through the slots of a pool, each through its share.
 *
 * The code is metate_view_collect_share, _release and _store of protocol/metate/protocol/{task,slots}.h. Two pools, one
 * below the other: each slot of the outer one has one link to the inner one. Every run starts from any state in which a task may
 * have left them: a slot is active, retired, or free on a stack, with a child or without; a child may have been retired by
 * itself. One launch collects the outer pool, the next one the inner pool, by all workers each; a launch begins when the
 * one before is over. In the end each slot is linked once or on one stack once, none is retired, `used` counts the linked ones.
 *
 * Weak memory. Launches order what was before and behind them. Within one, a slot's record belongs to the worker whose
 * share it is, a child's to the worker that gives up its only parent; heads of stacks change by exchange alone, so a stack is
 * whole when all stores of `next` are done, which is when the launch is over: nobody follows it before. `loaded` and
 * `used` change by read-modify-writes [relaxed]. `pending` only grows from 0, whoever is last.
 *
 * check two workers, three slots | -DWORKERS=2 -DSLOTS=3
 * check three workers, two slots | -DWORKERS=3 -DSLOTS=2
 * check one stack | -DWORKERS=2 -DSLOTS=3 -DSTACKS=1
 * ends  every loop ends | -DWORKERS=2 -DSLOTS=2
 * fault a slot is put on a stack by a store | -DWORKERS=2 -DSLOTS=2 -DSTACKS=1 -DPLAIN_STORE | parents[s] + listed[s]
 * fault shares overlap | -DWORKERS=2 -DSLOTS=2 -DALL_SLOTS | listed[h]
 * fault both pools in one launch | -DWORKERS=2 -DSLOTS=2 -DONE_LAUNCH | next[s]==99
 * fault the state stays | -DWORKERS=2 -DSLOTS=2 -DSTATE_STAYS | state[s]
 */
#define OUTER 0
#define INNER 1
#ifndef STACKS
#define STACKS 2
#endif
#define RETIRED 99
#define first_of(pool) (1 + (pool) * SLOTS)
#define retired(s) (state[s] && next[s] == RETIRED)

byte link[SLOTS + 1];       /* of the cell that leads to slot s of the outer pool: 1 = it does */
byte inside[SLOTS + 1];     /* in slot s of the outer pool: its link to the inner one */
byte head[2 * STACKS];      /* of a pool's stacks */
bool loaded[2 * STACKS];
bool pending[2];
byte used[2];
byte next[2 * SLOTS + 1];
bool state[2 * SLOTS + 1];
byte ready;                 /* workers that are done with the first launch */
hidden byte parents[2 * SLOTS + 1], listed[2 * SLOTS + 1];

#define stack_of(pool, s) ((pool) * STACKS + (s) % STACKS)

inline release(pool) {
  /* what its own container links is retired: nobody else's, so one step */
  d_step {
    if
    :: pool == OUTER && inside[s] ->
       c = inside[s]; inside[s] = 0; next[c] = RETIRED; pending[INNER] = true; c = 0
    :: else -> skip
    fi
  }
#ifndef STATE_STAYS
  state[s] = 0;
#endif
#ifdef PLAIN_STORE
  h = head[stack_of(pool, s)];
  head[stack_of(pool, s)] = s;
#else
  d_step { h = head[stack_of(pool, s)]; head[stack_of(pool, s)] = s; }
#endif
  next[s] = h;
  d_step { h = 0; loaded[stack_of(pool, s)] = true; }
  used[pool]--;
}

inline collect(pool) {
#ifdef ALL_SLOTS
  s = first_of(pool);
#else
  s = first_of(pool) + own;
#endif
  do
  :: s >= first_of(pool) + SLOTS || !pending[pool] -> break
  :: else ->
     if
     :: retired(s) -> release(pool)
     :: else -> skip
     fi;
#ifdef ALL_SLOTS
     s++
#else
     s = s + WORKERS
#endif
  od;
  s = 0
}

proctype worker(byte own) {
  byte s, h, c;
  collect(OUTER);
  ready++;
#ifndef ONE_LAUNCH
  ready == WORKERS;
#endif
  collect(INNER)
}

inline push_free(pool, s) {
  next[s] = head[stack_of(pool, s)]; head[stack_of(pool, s)] = s; loaded[stack_of(pool, s)] = true;
}

/* What a task may have left. */
inline any_start() {
  for (s : 1 .. SLOTS) {
    c = 2 * SLOTS + 1 - s; /* another worker's, with two slots */
    if
    :: true -> /* an active cell with a child */
       d_step { link[s] = 1; state[s] = 1; used[OUTER]++; inside[s] = c; state[c] = 1; used[INNER]++; }
    :: true -> /* one whose child was given up */
       d_step {
         link[s] = 1; state[s] = 1; used[OUTER]++;
         state[c] = 1; used[INNER]++; next[c] = RETIRED; pending[INNER] = true;
       }
    :: true -> /* one that was given up, with its child */
       d_step {
         state[s] = 1; used[OUTER]++; next[s] = RETIRED; pending[OUTER] = true;
         inside[s] = c; state[c] = 1; used[INNER]++;
       }
    :: true -> /* a free slot */
       d_step { push_free(OUTER, s); push_free(INNER, c); }
    fi
  }
}

inline check_sound() {
  d_step {
    for (s : 1 .. 2 * SLOTS) {
      parents[s] = 0; listed[s] = 0;
    }
    for (c : 0 .. 2 * STACKS - 1) {
      h = head[c];
      assert(h == 0 || loaded[c]);
      do
      :: h == 0 -> break
      :: else -> assert(listed[h] == 0); listed[h] = 1; h = next[h]
      od
    }
    for (s : 1 .. SLOTS) {
      if
      :: link[s] ->
         parents[s]++; used[OUTER]--;
         if
         :: inside[s] -> parents[inside[s]]++; used[INNER]--
         :: else -> skip
         fi
      :: else -> skip
      fi
    }
    for (s : 1 .. 2 * SLOTS) {
      assert(!retired(s));
      assert(parents[s] + listed[s] == 1);
      assert(state[s] == parents[s]);
    }
    assert(used[OUTER] == 0 && used[INNER] == 0)
  }
}

init {
  byte s, c, h, n;
  atomic {
    any_start();
    s = 0; c = 0;
    for (n : 1 .. WORKERS) {
      run worker(n - 1)
    }
    n = 0
  }
  _nr_pr == 1;
  check_sound()
}
