/* A dynamic level's list: append, activation of an index, and giving up the whole list, at once.
 *
 * Workers append, also RUN cells at once, activate any index, read the last cell, and (with -DCLEAR) give the list up; each stores
 * what it has activated. While nobody gives the list up, a reader finds a chunk below every length that it
 * sees, no index is given to two appends, and what was stored is there in the end. When the task is over,
 * and swept where the list was given up: chunks below the length are linked and none beyond it is, cells
 * from the length on hold background, no store has landed at another index, and slots are linked or free.
 * All this also where the pool has too few slots.
 *
 * -DDEVICE: a device's append where the pool is roomy (metate_view_append_at_once): it adds to the length, then looks for the chunk. A
 * reader may find a length ahead of chunks then, and tests; in the end nothing differs. Where it is not roomy it is the same as on a CPU.
 *
 * Slots are taken and given back in one step (pool.pml), and so are retired ones (deactivate.pml).
 *
 * Weak memory. What pool.pml says, and:
 *  - A worker raises the length by an exchange [release] after it has linked the chunk, or has read its link
 *    [acquire]; a reader loads the length [acquire], then the link. What happened before is transitive, so
 *    the reader sees the links of all chunks below the length, whoever made them, and what fills them. All
 *    changes are read-modify-writes: a longer length has the shorter ones' releases in its sequence.
 *    With a relaxed length this would break on ARM, though never on x86.
 *  - An append reserves by that same exchange: one location, each length is left once.
 *  - Giving up takes the length first [acq_rel], then the links; who reads an old length finds links that are
 *    0 (he reads background) or a slot that stays until the task ends.
 *
 * check two workers, two changes each | -DOPS=2 -DEXTENT=5 -DCAPACITY=3 -DSTART=1
 * check two workers, a list of any length | -DOPS=1 -DEXTENT=7 -DCAPACITY=4
 * check three workers, one change each | -DWORKERS=3 -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DSTART=1
 * check a full list | -DOPS=3 -DEXTENT=3 -DCAPACITY=2 -DSTART=1
 * check too few slots | -DOPS=2 -DEXTENT=5 -DCAPACITY=1 -DSTART=0
 * check too few slots, strict | -DOPS=2 -DEXTENT=5 -DCAPACITY=1 -DSTART=2 -DSTRICT
 * check runs of three cells | -DOPS=1 -DEXTENT=7 -DCAPACITY=4 -DRUN=3
 * check runs in a full list | -DOPS=2 -DEXTENT=3 -DCAPACITY=2 -DSTART=0 -DRUN=2
 * check runs with too few slots | -DOPS=2 -DEXTENT=5 -DCAPACITY=1 -DSTART=1 -DRUN=4
 * check runs given up meanwhile | -DOPS=1 -DEXTENT=5 -DCAPACITY=20 -DCLEAR -DSTART=3 -DRUN=3
 * check given up meanwhile | -DOPS=2 -DEXTENT=3 -DCAPACITY=20 -DCLEAR -DSTART=3
 * check given up meanwhile, three workers | -DWORKERS=3 -DOPS=1 -DEXTENT=3 -DCAPACITY=20 -DCLEAR -DSTART=2
 * check a device, all slots there | -DDEVICE -DOPS=2 -DEXTENT=5 -DCAPACITY=3 -DSTART=1
 * check a device, three workers | -DDEVICE -DWORKERS=3 -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DSTART=1
 * check a device, a full list | -DDEVICE -DOPS=3 -DEXTENT=3 -DCAPACITY=2 -DSTART=1
 * check a device, not roomy in the end | -DDEVICE -DOPS=2 -DEXTENT=7 -DCAPACITY=3 -DSTART=0
 * check a device, given up meanwhile | -DDEVICE -DOPS=1 -DEXTENT=5 -DCAPACITY=20 -DCLEAR -DSTART=3
 * ends  every loop of a device ends | -DDEVICE -DOPS=1 -DEXTENT=5 -DCAPACITY=3
 * ends  every loop ends | -DOPS=1 -DEXTENT=5 -DCAPACITY=3
 * ends  every loop of runs ends | -DOPS=1 -DEXTENT=5 -DCAPACITY=3 -DRUN=3
 * fault a device adds without room | -DDEVICE -DALWAYS_ROOMY -DOPS=2 -DEXTENT=7 -DCAPACITY=1 -DSTART=0 | c < needed
 * fault a device's reader does not test | -DDEVICE -DNO_READ_TEST -DOPS=1 -DEXTENT=5 -DCAPACITY=3 -DSTART=2 | slot
 * fault a device leaves a length beyond a full list | -DDEVICE -DNO_SHORTEN -DOPS=3 -DEXTENT=3 -DCAPACITY=2 -DSTART=1 | length<=3
 * fault the length first, then the chunk | -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DLENGTH_FIRST | slot || cleared
 * fault an append stores the length | -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DPLAIN_APPEND | given >> index
 * fault a run stores the length | -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DRUN=2 -DPLAIN_APPEND | given >> index
 * fault a run claims its first chunk alone | -DOPS=1 -DEXTENT=7 -DCAPACITY=4 -DRUN=3 -DONE_CLAIMED | slot || cleared
 * fault an activation stores the length | -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DPLAIN_ACTIVATE | length
 * fault only the index's own chunk is claimed | -DOPS=1 -DEXTENT=5 -DCAPACITY=3 -DONE_CHUNK | c < needed
 * fault published before it is filled | -DOPS=1 -DEXTENT=3 -DCAPACITY=2 -DPUBLISH_FIRST | 255
 * fault strict stops before a chunk that is linked | -DOPS=2 -DEXTENT=7 -DCAPACITY=1 -DSTRICT -DSTRICT_STOPS | c < needed
 * fault a store does not test what it finds | -DOPS=1 -DEXTENT=3 -DCAPACITY=20 -DCLEAR -DNO_TEST | slot != 0
 * fault not swept | -DOPS=1 -DEXTENT=3 -DCAPACITY=20 -DCLEAR -DNO_SWEEP | c < needed
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#define CHUNK 2 /* cells of a slot */
#define CHUNKS ((EXTENT + CHUNK - 1) / CHUNK)
#define MOST (CHUNKS + WORKERS * OPS * CHUNKS) /* slots that can be needed at all, with retired ones */
#if CAPACITY < 10
#define PHYSICAL (CAPACITY + WORKERS)
#else
#define PHYSICAL 12 /* more than are taken: asserted */
#endif
#define GARBAGE 255
#define AMBIENT 0 /* all background; never written */
#define NONE 100 /* no index */
#define AGAIN 101
#define has(set, n) ((set) >> (n) & 1)
#define with(set, n) ((set) | (1 << (n)))
#define without(set, n) ((set) & ~(1 << (n)))

byte length, link[CHUNKS];
short free = (1 << (PHYSICAL + 1)) - 2; /* set of slots */
short retired;
byte used;
byte cell[(PHYSICAL + 1) * CHUNK]; /* 0 = background, n + 1 = what is stored at index n */
byte stored, given; /* sets of indices: stored there, given to an append */
bool status, cleared;

inline fill() {
  d_step {
    cell[slot * CHUNK] = 0; cell[slot * CHUNK + 1] = 0;
  }
}

/* metate_view_chunk_claim: `slot` of chunk `c`, 0 where there is none; `beyond`: linked, but more than the
 * capacity. */
inline claim() {
  slot = link[c];
  if
  :: slot -> skip
  :: else ->
     d_step { /* the lowest free slot */
       n = 1;
       do
       :: n > PHYSICAL || has(free, n) -> break;
       :: else -> n++;
       od;
       if
       :: n <= PHYSICAL -> free = without(free, n); slot = n; cell[n * CHUNK] = GARBAGE; cell[n * CHUNK + 1] = GARBAGE;
       :: else -> assert(CAPACITY < 10);
       fi;
       n = 0;
     }
     if
     :: slot == 0 ->
        slot = link[c];
        if
        :: slot -> skip
        :: else -> status = 1
        fi
     :: else ->
#ifndef PUBLISH_FIRST
        fill();
#endif
        d_step {
          if
          :: link[c] == 0 ->
             link[c] = slot; used++;
             if
             :: used > CAPACITY -> status = 1; beyond = 1;
             :: else -> skip;
             fi
          :: else -> n = slot; slot = link[c];
          fi
        }
        if
        :: n -> d_step { free = with(free, n); n = 0; }
        :: else ->
#ifdef PUBLISH_FIRST
           fill();
#endif
           skip
        fi
     fi
  fi
}

/* A store in what the worker found or activated. */
inline store(index) {
  d_step {
    assert(slot != AMBIENT);
    assert(cell[slot * CHUNK + index % CHUNK] != GARBAGE);
    cell[slot * CHUNK + index % CHUNK] = index + 1;
    stored = with(stored, index);
  }
}

/* metate_view_append, then a store at the index. */
inline append() {
  known = length;
  do
  :: known >= EXTENT -> index = NONE; break
  :: else ->
#ifndef LENGTH_FIRST
     c = known / CHUNK;
     claim();
     if
     :: slot == 0 -> index = NONE; break
     :: else -> slot = 0
     fi;
#endif
     d_step {
       if
#ifdef PLAIN_APPEND
       :: true -> length = known + 1; index = known;
#else
       :: length == known -> length = known + 1; index = known;
       :: else -> known = length; index = AGAIN;
#endif
       fi;
       if
       :: index != AGAIN -> assert(!has(given, index) || cleared); given = with(given, index);
       :: else -> skip;
       fi
     }
     if
     :: index != AGAIN -> break
     :: else -> skip
     fi
  od;
  if
  :: index == NONE -> beyond = 0 /* the status says so */
  :: else ->
     c = index / CHUNK;
#ifdef LENGTH_FIRST
     claim();
#else
     slot = link[c];
#endif
     beyond = 0;
     if
#ifdef NO_TEST
     :: true -> store(index)
#else
     :: slot -> store(index)
     :: else -> assert(cleared) /* given up meanwhile: the store is lost */
#endif
     fi
  fi
}

#ifdef DEVICE
#ifdef ALWAYS_ROOMY
#define roomy true
#else
#define roomy (CHUNKS <= CAPACITY || used + WORKERS < CAPACITY)
#endif

/* metate_view_append_at_once, then a store at the index. */
inline append_at_once() {
  index = EXTENT;
  if
  :: length < EXTENT -> d_step { index = length; length++; }
  :: else -> skip
  fi;
  if
  :: index >= EXTENT ->
     known = length;
     do /* metate_view_shorten */
#ifdef NO_SHORTEN
     :: true -> break
#else
     :: known <= EXTENT -> break
     :: else ->
        d_step {
          if
          :: length == known -> length = EXTENT; known = EXTENT;
          :: else -> known = length;
          fi
        }
#endif
     od
  :: else ->
     d_step {
       assert(!has(given, index) || cleared);
       given = with(given, index);
     }
     slot = link[index / CHUNK];
     if
     :: slot -> skip
     :: else -> c = index / CHUNK; claim() /* waiting a while before changes nothing */
     fi;
     beyond = 0;
     if
     :: slot -> store(index)
     :: else -> skip
     fi
  fi
}
#endif

#ifdef RUN
/* metate_view_append_run, then a store at each index. */
inline append_run() {
  known = length;
  do
  :: true ->
     index = (known + RUN > EXTENT -> EXTENT : known + RUN);
     c = known / CHUNK;
     do
     :: c * CHUNK >= index -> break
     :: else ->
        claim();
        if
        :: slot == 0 -> break
        :: else -> slot = 0; c++
        fi
#ifdef ONE_CLAIMED
        ; c = CHUNKS
#endif
     od;
     index = (c * CHUNK > index -> index : c * CHUNK);
     if
     :: index <= known -> break
     :: else -> skip
     fi;
     d_step {
       if
#ifdef PLAIN_APPEND
       :: true -> length = index; reached = index;
#else
       :: length == known -> length = index; reached = index;
       :: else -> known = length;
#endif
       fi
     }
     if
     :: reached -> break
     :: else -> skip
     fi
  od;
  beyond = 0;
  do
  :: known >= reached -> break
  :: else ->
     index = known;
     d_step {
       assert(!has(given, index) || cleared);
       given = with(given, index);
     }
     slot = link[index / CHUNK];
     if
     :: slot -> store(index)
     :: else -> assert(slot || cleared)
     fi;
     slot = 0;
     known++
  od
}
#endif

/* metate_view_dynamic_activate, then a store at the index. */
inline activate() {
  known = length;
  if
  :: index < known -> slot = link[index / CHUNK]
  :: else -> skip
  fi;
  if
  :: slot -> skip
  :: else ->
#ifdef ONE_CHUNK
     c = index / CHUNK;
#else
     c = (known / CHUNK < index / CHUNK -> known / CHUNK : index / CHUNK);
#endif
#ifdef DEVICE
     do
     :: c == 0 -> break
     :: c && link[c - 1] -> break
     :: else -> c--
     od;
#endif
     do
     :: true ->
        claim();
#ifdef STRICT_STOPS
        if
        :: beyond -> slot = 0
        :: else -> skip
        fi;
#endif
        if
        :: slot == 0 || c == index / CHUNK -> break
        :: else -> c++; slot = 0
        fi
     od;
     n = (slot -> index + 1 : c * CHUNK);
     do
     :: known >= n -> break
     :: else ->
        d_step {
          if
#ifdef PLAIN_ACTIVATE
          :: true -> length = n; known = n;
#else
          :: length == known -> length = n; known = n;
          :: else -> known = length;
#endif
          fi
        }
     od;
     n = 0;
#ifdef STRICT
     if
     :: beyond -> slot = 0
     :: else -> skip
     fi;
#endif
     beyond = 0
  fi;
  if
  :: slot -> store(index)
  :: else -> skip
  fi
}

/* metate_view_clear_list */
inline clear() {
  cleared = 1;
  length = 0;
  do
  :: c == CHUNKS -> break
  :: else ->
     d_step {
       slot = link[c]; link[c] = 0;
       if
       :: slot -> retired = with(retired, slot);
       :: else -> skip;
       fi;
       slot = 0; c++;
     }
  od
}

inline read_last() {
  known = length;
  if
  :: known ->
     slot = link[(known - 1) / CHUNK];
     d_step {
#if !defined(DEVICE) || defined(NO_READ_TEST)
       assert(slot || cleared);
#endif
       assert(cell[slot * CHUNK + (known - 1) % CHUNK] != GARBAGE);
     }
  :: else -> skip
  fi
}

proctype worker(bool first) {
  byte index, known, c, slot, n, reached, todo = OPS;
  bool beyond;
  do
  :: todo == 0 -> break
  :: else ->
     todo--;
     if
#ifdef DEVICE
     :: roomy -> append_at_once()
     :: !roomy -> append()
#else
     :: append()
#endif
#ifdef RUN
     :: append_run()
#endif
     :: select(index : 0 .. EXTENT - 1); activate()
     :: read_last()
#ifdef CLEAR
     :: clear()
#endif
     fi;
     atomic { index = 0; known = 0; c = 0; slot = 0; n = 0; reached = 0; }
  od
}

/* metate_view_sweep_list */
inline sweep() {
  n = 0;
  do
  :: n == CHUNKS -> break;
  :: link[n] == 0 -> break;
  :: else -> n++;
  od;
  if
  :: length > n * CHUNK -> length = n * CHUNK;
  :: else -> skip;
  fi;
  n = (length + CHUNK - 1) / CHUNK;
  for (c : n .. CHUNKS - 1) {
    if
    :: link[c] -> retired = with(retired, link[c]); link[c] = 0;
    :: else -> skip;
    fi
  }
  for (c : length .. n * CHUNK - 1) {
    cell[link[c / CHUNK] * CHUNK + c % CHUNK] = 0;
  }
}

inline check_sound() {
  d_step {
    assert(length <= EXTENT);
    needed = (length + CHUNK - 1) / CHUNK;
    for (c : 0 .. CHUNKS - 1) {
      if
      :: link[c] == 0 -> skip;
      :: else ->
         linked++;
         assert(!has(free, link[c]));
         free = with(free, link[c]);
         for (n : c * CHUNK .. c * CHUNK + CHUNK - 1) {
           s = cell[link[c] * CHUNK + n % CHUNK];
           assert(s == 0 || (s == n + 1 && n < length));
         }
      fi;
      assert((link[c] != 0) == (c < needed));
    }
    assert((free | retired) == (1 << (PHYSICAL + 1)) - 2); /* none lost */
    assert((free & retired) == 0);
    if
    :: cleared -> skip;
    :: else ->
       for (n : 0 .. EXTENT - 1) {
         assert(!has(given, n) || n < length);
         assert(!has(stored, n) || (n < length && cell[link[n / CHUNK] * CHUNK + n % CHUNK] == n + 1));
       }
       assert(needed <= CAPACITY || status);
       assert(used == linked && retired == 0);
    fi
  }
}

init {
  byte n, c, s, linked, needed;
  atomic {
    /* a list of any length; with START of that length */
#ifdef START
    n = START;
#else
    select(n : 0 .. (EXTENT < 2 * CAPACITY -> EXTENT : 2 * CAPACITY));
#endif
    c = 0;
    d_step {
      length = n;
      do
      :: c * CHUNK >= length -> break;
      :: else -> s = c + 1; link[c] = s; free = without(free, s); used++; c++;
      od;
      n = 0; c = 0; s = 0;
    }
    run worker(1);
    run worker(0);
#if WORKERS > 2
    run worker(0);
#endif
  }
  _nr_pr == 1;
#ifndef NO_SWEEP
  d_step {
    if
    :: cleared -> sweep();
    :: else -> skip;
    fi;
    n = 0; c = 0;
  }
#endif
  check_sound()
}
