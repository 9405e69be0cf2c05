/* Bitmasked cells whose bits share a word: activation, deactivation, the sweep, loops by the entry mask.
 *
 * A cell holds a value and a link to a pool below. Workers activate cells (the bit, then the value, then a
 * slot behind the link) and give them up (the bit, then background over the value, the link's slot retired):
 * with -DOWN each worker its own cell alone, then nothing is swept; else any cells, and the sweep follows.
 * A walker visits the cells of the entry mask. When the task is over: a cell whose bit is 0 holds
 * background and links nothing; no slot is lost or linked twice; a cell that nobody gave up has its bit and
 * what was stored; an own cell is as its worker left it; the walker has visited the set at entry.
 *
 * Weak memory. A bit is set and cleared by one read-modify-write of its word [acq_rel], tested before
 * [acquire / relaxed]; its atomicity alone keeps the neighbours' bits. Nothing is published by a bit: an
 * inactive cell holds background since before the task. The value is the program's own: who stores in a cell
 * while another gives it up has a race, and the bit's order decides nothing about it (the fill comes after
 * the bit, so a store may be lost, and a value may stay behind: hence the sweep). Values and masks at the
 * task's end are ordered by the end itself, entry masks by its start. The link inside follows pool.pml.
 *
 * check own cells, three workers | -DWORKERS=3 -DOPS=1 -DCELLS=3 -DOWN
 * check any cells, two workers | -DWORKERS=2 -DOPS=2 -DCELLS=2
 * check any cells, three workers | -DWORKERS=3 -DOPS=1 -DCELLS=2
 * check own cells and a walker | -DWORKERS=2 -DOPS=3 -DCELLS=2 -DOWN -DWALKER
 * ends  every loop ends | -DWORKERS=2 -DOPS=1 -DCELLS=2 -DWALKER
 * fault a bit is set by load and store | -DWORKERS=2 -DOPS=1 -DCELLS=2 -DOWN -DPLAIN_SET | mask >> n
 * fault a bit is cleared by load and store | -DWORKERS=2 -DOPS=1 -DCELLS=2 -DOWN -DPLAIN_CLEAR | mask >> n
 * fault given up cells keep their value | -DWORKERS=2 -DOPS=1 -DCELLS=2 -DOWN -DNO_FILL | value[n]
 * fault not swept | -DWORKERS=2 -DOPS=1 -DCELLS=1 -DNO_SWEEP | value[n]
 * fault the walker looks at the live mask | -DWORKERS=2 -DOPS=1 -DCELLS=2 -DOWN -DWALKER -DLIVE_MASK | visited == entry
 */
#define SLOTS (CELLS + WORKERS * OPS)
#define has(set, n) ((set) >> (n) & 1)
#define with(set, n) ((set) | (1 << (n)))
#define without(set, n) ((set) & ~(1 << (n)))

byte mask, entry, visited; /* sets of cells */
byte value[CELLS];         /* 0 = background */
byte link[CELLS];
short free = (1 << (SLOTS + 1)) - 2; /* set of slots */
short retired;
byte used;
byte expected[CELLS]; /* of an own cell: its bit in the end; else 1 = activated, never given up */
byte given_up;

/* metate_view_mask_activate, then what is inside */
inline activate() {
  word = mask;
  if
  :: has(word, b) -> skip
  :: else ->
#ifdef PLAIN_SET
     mask = with(word, b)
#else
     mask = with(mask, b)
#endif
  fi;
  value[b] = 1;
  slot = link[b];
  if
  :: slot -> skip
  :: else -> /* take, fill, publish or give back: pool.pml */
     d_step {
       n = 1;
       do
       :: has(free, n) -> break;
       :: else -> n++;
       od;
       free = without(free, n); slot = n; n = 0;
     }
     d_step {
       if
       :: link[b] == 0 -> link[b] = slot; used++;
       :: else -> free = with(free, slot);
       fi
     }
  fi
}

/* metate_view_mask_deactivate, metate_view_clear_cell */
inline give_up() {
  word = mask;
  if
  :: !has(word, b) -> skip
  :: else ->
#ifdef PLAIN_CLEAR
     mask = without(word, b);
     word = with(0, b);
#else
     d_step { word = mask; mask = without(mask, b); }
#endif
     if
     :: has(word, b) ->
#ifndef NO_FILL
        value[b] = 0;
#endif
        slot = link[b];
        if
        :: slot ->
           d_step {
             slot = link[b]; link[b] = 0;
             if
             :: slot -> retired = with(retired, slot);
             :: else -> skip;
             fi
           }
        :: else -> skip
        fi
     :: else -> skip
     fi
  fi
}

proctype worker(byte me) {
  byte b, word, slot, n, todo = OPS;
  do
  :: todo == 0 -> break
  :: else ->
     atomic {
       todo--;
#ifdef OWN
       b = me;
#else
       select(b : 0 .. CELLS - 1);
#endif
     }
     if
     :: activate();
        expected[b] = 1
     :: atomic { given_up = with(given_up, b); }
        give_up();
        expected[b] = 0
     fi;
     atomic { b = 0; word = 0; slot = 0; }
  od
}

proctype walker() {
  byte b, word;
  do
  :: b == CELLS -> break
  :: else ->
#ifdef LIVE_MASK
     word = mask;
#else
     word = entry; /* a copy that was made before the task: metate_view_snapshot */
#endif
     visited = (has(word, b) -> with(visited, b) : visited);
     b++
  od
}

inline check_sound() {
  d_step {
    for (n : 0 .. CELLS - 1) {
#ifdef OWN
      assert((mask >> n & 1) == expected[n]);
#else
      assert(has(given_up, n) || (mask >> n & 1) == expected[n]);
#endif
      if
      :: has(mask, n) ->
         /* its worker's last word, or nobody gave it up */
#ifdef OWN
         assert(value[n] == 1 && link[n]);
#else
         assert(has(given_up, n) || (value[n] == 1 && link[n]));
#endif
      :: else -> assert(value[n] == 0 && link[n] == 0);
      fi;
      if
      :: link[n] -> assert(!has(free, link[n])); free = with(free, link[n]); used--;
      :: else -> skip;
      fi
    }
    for (n : 1 .. SLOTS) {
      assert(has(free, n) + has(retired, n) == 1);
      used = used - has(retired, n);
    }
    assert(used == 0);
    assert(visited == entry);
  }
}

init {
  byte n, s;
  atomic {
    for (n : 0 .. CELLS - 1) {
      if
      :: skip
      :: s = n + 1; mask = with(mask, n); value[n] = 1; link[n] = s; free = without(free, s); used++; expected[n] = 1
      fi
    }
    entry = mask;
    for (n : 0 .. WORKERS - 1) {
      run worker(n);
    }
#ifdef WALKER
    run walker();
#else
    visited = entry;
#endif
    n = 0; s = 0;
  }
  _nr_pr == 1;
#if !defined(OWN) && !defined(NO_SWEEP)
  d_step { /* metate_view_sweep_cell */
    for (n : 0 .. CELLS - 1) {
      if
      :: has(mask, n) -> skip;
      :: else ->
         value[n] = 0;
         if
         :: link[n] -> retired = with(retired, link[n]); link[n] = 0;
         :: else -> skip;
         fi
      fi
    }
    n = 0;
  }
#endif
  check_sound()
}
