/* A hash level: activation, deactivation and look-up in one open-addressing table while it changes, the
 * stamps that tie slots to their container, and the table's repair at the task's end.
 *
 * Two workers activate cells (and store in them), give them up, and look them up; one of them may give up
 * the container's own cell, with all cells below, and go on in a new container at the same place. Keys
 * share homes or have neighbouring ones at the table's end, so that runs collide and wrap around.
 *
 * While the task runs: no two live buckets with one key and stamp; a cell that nobody gives up is found; a
 * worker that gave up the container never meets a cell that was active before. When it is over: no
 * tombstone, each live cell is found, in one bucket, and holds what was stored there; slots are live or free.
 *
 * Slots are taken and given back in one step (pool.pml), pending lists are not modelled (deactivate.pml) but
 * for `next`, the word that a retired slot's stamp stands in. The ring has SIZE buckets, any number here.
 *
 * Weak memory. What pool.pml and deactivate.pml say, and:
 *  - A bucket goes 0 -> slot -> tombstone while tasks run, never back. So what a probe has read of the buckets
 *    it passed stays true however old the value was: another key's slot, or a tombstone. Only a 0 may be
 *    old, and there the exchange, which reads the newest value, decides. Let two workers link one key at
 *    buckets x before y: who linked at y had passed x, whose only slot is that key's, so he read the
 *    tombstone: x was dead. No order between different words is used in this.
 *  - The slot's key, stamp and cell are published by the bucket's exchange [release] and read after loading
 *    the bucket [acquire], or after losing the exchange [acquire].
 *  - A look-up that reads a 0 says inactive: true when it was read. An activation that happened before the
 *    look-up is never missed, since no bucket reads older than what happened before.
 *  - `next` [relaxed] of a slot in a bucket is its stamp, or, when retired meanwhile, a slot number: stamps
 *    have the top bit and slot numbers of a hash pool are below 2^30, so it never matches by chance; the
 *    cell was given up then. The tombstone's exchange [acquire] puts retire's store behind prepare's.
 *  - Stamps are drawn by an atomic addition [relaxed], each once: so the exchange of `any` 0 -> stamp may come
 *    as late as it likes, it never brings an earlier generation back.
 *
 * check two workers, two changes each | -DOPS=2 -DKEYS=2 -DMOST=1
 * check two workers, keys of two homes | -DOPS=2 -DOTHERS=1 -DKEYS=3
 * check three workers, one change each | -DWORKERS=3 -DOPS=1 -DKEYS=2 -DMOST=1
 * check a container in a slot is given up | -DOPS=3 -DOTHERS=1 -DKEYS=2 -DCLEAR
 * check a container in place is given up | -DOPS=3 -DOTHERS=1 -DKEYS=2 -DCLEAR -DIN_PLACE
 * ends  every loop ends | -DOPS=1 -DKEYS=2
 * fault a given up bucket is empty | -DOPS=2 -DKEYS=2 -DEMPTY_BUCKET | key[table[at]] != key[s]
 * fault a tombstone is used again | -DOPS=2 -DKEYS=2 -DREUSE | same == 0
 * fault a lost bucket is not looked at again | -DOPS=1 -DKEYS=2 -DGO_ON | same == 0
 * fault linked by a plain store | -DOPS=1 -DKEYS=2 -DPLAIN_BUCKET | buckets_of
 * fault published before its key is known | -DOPS=1 -DKEYS=2 -DKEY_LATE | same == 0
 * fault given up by a plain store | -DOPS=1 -DKEYS=2 -DPLAIN_TOMB | retired
 * fault stamps by the count of clears, container in a slot | -DOPS=2 -DKEYS=2 -DCLEAR -DSHARED_STAMP | gone >> found
 * fault stamps by the count of clears, container in place | -DOPS=3 -DOTHERS=1 -DKEYS=2 -DCLEAR -DIN_PLACE -DSHARED_STAMP | dead >> s
 * fault stamps may be slot numbers | -DOPS=2 -DKEYS=2 -DCLEAR -DIN_PLACE -DNO_FIND -DSTAMP_IS_NUMBER | gone >> found
 * fault the table is not mended | -DOPS=1 -DKEYS=2 -DNO_MEND | table[n] != 255
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef OTHERS
#define OTHERS OPS /* changes of the workers but the first */
#endif
#ifndef MOST
#define MOST KEYS /* cells that may be active at the start */
#endif
#define SLOTS (MOST + OPS + (WORKERS - 1) * OTHERS)
#define SIZE (SLOTS + 1)
#define TOMB 255
#define home(k) (k == 2 -> 0 : SIZE - 1)
#define after(at) ((at) == SIZE - 1 -> 0 : (at) + 1)
#define before(at) ((at) == 0 -> SIZE - 1 : (at) - 1)
#define apart(from, to) ((to) >= (from) -> (to) - (from) : (to) + SIZE - (from))
#define has(set, n) ((set) >> (n) & 1)
#define with(set, n) ((set) | (1 << (n)))
#define without(set, n) ((set) & ~(1 << (n)))
#ifdef STAMP_IS_NUMBER
#define MARK 0
#else
#define MARK 128 /* stamps are no slot numbers */
#endif

byte table[SIZE];
byte any[2], cur; /* containers: stamp, 0 = nothing below; the one that is linked */
byte stamps = 1;  /* drawn so far */
byte orphans;     /* containers given up in place */
byte key[SLOTS + 1];
byte next[SLOTS + 1]; /* of a slot in the table: its container's stamp; of a retired one: the next of those */
byte content[SLOTS + 1];
byte pending, high;
short state, back;  /* sets of slots: those with a state; those that were given back */
short retired, dead; /* sets of slots: retired; active before the container was given up */
byte touched, stored; /* sets of keys */
bool cleared;

/* Takes and fills a slot. */
inline prepare() {
  d_step {
    n = 1;
    do
    :: n > high || has(back, n) -> break;
    :: else -> n++;
    od;
    mine = n; back = without(back, n); n = 0;
    if
    :: mine > high -> high = mine; assert(high <= SLOTS);
    :: else -> skip;
    fi;
    next[mine] = a; content[mine] = 0; state = with(state, mine);
#ifndef KEY_LATE
    key[mine] = k;
#else
    key[mine] = KEYS;
#endif
  }
}

inline give_back() {
  d_step { state = without(state, mine); back = with(back, mine); next[mine] = 0; mine = 0; }
}

/* metate_view_hash_stamp */
inline stamp() {
  a = any[c];
  if
  :: a -> skip
  :: else ->
#ifdef SHARED_STAMP
     n = MARK + orphans + 1;
#else
     d_step { stamps++; n = MARK + stamps; }
#endif
     d_step {
       if
       :: any[c] == 0 -> any[c] = n; a = n;
       :: else -> a = any[c];
       fi;
       n = 0;
     }
  fi
}

inline match() {
  d_step { same = (found != TOMB && found != 0 && key[found] == k && next[found] == a); }
}

/* metate_view_hash_bucket: `found` in bucket `at`, or 0. */
inline look_up() {
  a = any[c];
  if
  :: a == 0 -> found = 0
  :: else ->
     at = home(k);
     do
     :: true ->
        found = table[at];
        if
        :: found == 0 -> break
        :: else -> match()
        fi;
        if
        :: same -> break
        :: else -> at = after(at)
        fi
     od;
     same = 0
  fi
}

/* metate_view_hash_claim */
inline claim() {
  stamp();
  at = home(k);
  do
  :: true ->
     found = table[at];
#ifdef REUSE
     if
     :: found == TOMB -> found = 0
     :: else -> skip
     fi;
#endif
     if
     :: found == 0 ->
        if
        :: mine == 0 -> prepare()
        :: else -> skip
        fi;
        d_step {
          found = table[at];
          if
#ifdef PLAIN_BUCKET
          :: true ->
#elif defined(REUSE)
          :: found == 0 || found == TOMB ->
#else
          :: found == 0 ->
#endif
             table[at] = mine; found = 0; n = 0;
             for (same : 0 .. SIZE - 1) {
               if
               :: same != at && table[same] && table[same] != TOMB && key[table[same]] == k && next[table[same]] == a -> n++;
               :: else -> skip;
               fi
             }
             same = n; n = 0;
             assert(same == 0);
          :: else -> skip;
          fi
        }
     :: else -> skip
     fi;
     if
     :: found == 0 -> found = mine; mine = 0; break
     :: else -> skip
     fi;
#ifdef GO_ON
     if
     :: mine -> at = after(at); goto again
     :: else -> skip
     fi;
#endif
     match();
     if
     :: same -> break
     :: else -> at = after(at)
     fi;
#ifdef GO_ON
again: skip
#endif
  od;
#ifdef KEY_LATE
  key[found] = k;
#endif
  same = 0;
  if
  :: mine -> give_back()
  :: else -> skip
  fi
}

/* metate_view_hash_deactivate, after look_up */
inline give_up() {
  d_step {
    if
#ifdef PLAIN_TOMB
    :: true ->
#else
    :: table[at] == found ->
#endif
#ifdef EMPTY_BUCKET
       table[at] = 0;
#else
       table[at] = TOMB;
#endif
       same = 1;
    :: else -> skip;
    fi
  }
  if
  :: same ->
     d_step { assert(!has(retired, found)); retired = with(retired, found); next[found] = pending; pending = found; same = 0; }
  :: else -> skip
  fi
}

proctype worker(bool first) {
  byte k, c, a, at, found, mine, n, same, todo = (first -> OPS : OTHERS);
  short gone; /* slots that this operation must not meet */
  bool was;   /* the cell was there when it began */
  do
  :: todo == 0 -> break
  :: else ->
     atomic {
       todo--;
       select(k : 0 .. KEYS - 1);
       c = cur;
       gone = dead;
     }
     if
     :: true -> /* activate a cell and store in it */
        claim();
        d_step {
          assert(key[found] == k && !has(gone, found)); /* dead */
          content[found] = with(content[found], k);
          stored = with(stored, k);
        }
#ifndef NO_GIVE_UP
     :: true -> /* give it up */
        atomic { touched = with(touched, k); }
        look_up();
        if
        :: found -> give_up()
        :: else -> skip
        fi
#endif
#ifndef NO_FIND
     :: true -> /* look it up */
        d_step {
          for (n : 0 .. SIZE - 1) {
            if
            :: table[n] && table[n] != TOMB && key[table[n]] == k && any[c] && next[table[n]] == any[c] -> was = 1;
            :: else -> skip;
            fi
          }
          n = 0;
        }
        look_up();
        d_step {
          assert(found || !was || has(touched, k));
          assert(!has(gone, found)); /* dead */
          was = 0;
        }
#endif
#ifdef CLEAR
     :: first && !cleared -> /* give up the container's own cell; the next operation makes it anew */
        d_step {
          cleared = 1; k = 0; touched = 255; gone = 0;
          for (n : 0 .. SIZE - 1) {
            if
            :: table[n] && table[n] != TOMB -> gone = with(gone, table[n]);
            :: else -> skip;
            fi
          }
          n = 0;
        }
#ifdef IN_PLACE
        orphans++; /* metate_view_clear_hash */
        d_step { any[cur] = 0; dead = gone; }
#else
        d_step { cur = 1; dead = gone; } /* its slot waits for the end of the task, as it is */
#endif
#endif
     fi;
     d_step { k = 0; c = 0; a = 0; at = 0; found = 0; gone = 0; }
  od
}

/* metate_view_collect_orphans: slots whose container has another stamp now, or is gone. */
inline collect_orphans() {
  for (s : 1 .. high) {
    if
    :: has(state, s) && next[s] != any[cur] ->
       at = home(key[s]);
       do
       :: table[at] == 0 || table[at] == s -> break;
       :: else -> at = after(at);
       od;
       if
       :: table[at] == s -> table[at] = TOMB; retired = with(retired, s); next[s] = pending; pending = s;
       :: else -> skip;
       fi
    :: else -> skip;
    fi
  }
}

/* metate_view_mend_run: all tombstones out of the run around `at`, the last one first. */
inline mend_run() {
  end = at;
  do
  :: table[end] == 0 -> break;
  :: else -> end = after(end);
  od;
  i = before(end);
  do
  :: table[i] == 0 -> break;
  :: else ->
     if
     :: table[i] == TOMB ->
        hole = i; j = after(i);
        do
        :: table[j] == 0 -> break;
        :: else ->
           n = home(key[table[j]]);
           if
           :: apart(n, j) >= apart(hole, j) -> table[hole] = table[j]; hole = j;
           :: else -> skip;
           fi;
           j = after(j);
        od;
        table[hole] = 0;
     :: else -> skip;
     fi;
     i = before(i);
  od
}

/* metate_view_collect_pool */
inline collect_pool() {
  do
  :: pending == 0 -> break;
  :: else ->
     s = pending; pending = next[s];
     if
     :: !rebuild -> at = home(key[s]); mend_run();
     :: else -> skip;
     fi;
     state = without(state, s); back = with(back, s);
  od;
  if
  :: rebuild -> /* metate_view_rebuild */
     for (n : 0 .. SIZE - 1) {
       table[n] = 0;
     }
     for (s : 1 .. high) {
       if
       :: has(state, s) ->
          at = home(key[s]);
          do
          :: table[at] == 0 -> break;
          :: else -> at = after(at);
          od;
          table[at] = s;
       :: else -> skip;
       fi
     }
  :: else -> skip;
  fi
}

inline check_sound() {
  d_step {
    for (n : 0 .. SIZE - 1) {
      assert(table[n] != TOMB);
      s = table[n];
      if
      :: s ->
         assert(has(state, s) && !has(back, s) && s <= high && next[s] == any[cur]);
         at = home(key[s]);
         do
         :: at == n -> break;
         :: else -> assert(table[at] != 0 && key[table[at]] != key[s]); at = after(at);
         od;
         buckets_of++;
         assert(has(touched, key[s]) || !has(stored, key[s]) || content[s] == 1 << key[s]);
         assert((content[s] & ~(1 << key[s])) == 0 && !has(dead, s));
         found = with(found, key[s]);
      :: else -> skip;
      fi
    }
    for (s : 1 .. high) {
      if
      :: has(state, s) -> assert(!has(back, s)); buckets_of--;
      :: else -> assert(has(back, s));
      fi
    }
    assert(buckets_of == 0);
    /* cells that were active or activated, and that nobody gave up, are there */
    assert(((stored | started) & ~touched & ~found) == 0);
  }
}

init {
  byte n, s, at, i, j, hole, end, buckets_of, started, found;
  bool rebuild;
  atomic {
    any[0] = MARK + 1;
    /* any cells active, put in one after the other */
    do
    :: high == MOST -> break
    :: break
    :: high < MOST ->
       select(n : 0 .. KEYS - 1);
       if
       :: has(started, n) -> break
       :: else -> skip
       fi;
       d_step {
         high++; key[high] = n; next[high] = any[0]; state = with(state, high); started = with(started, n);
         at = home(n);
         do
         :: table[at] == 0 -> break;
         :: else -> at = after(at);
         od;
         table[at] = high; at = 0; n = 0;
       }
    od;
    if
    :: high == 0 -> any[0] = 0
    :: true -> skip
    fi;
    n = 0;
    run worker(1);
    run worker(0);
#if WORKERS > 2
    run worker(0);
#endif
  }
  _nr_pr == 1;
  if
  :: rebuild = 0
#ifndef NO_MEND
  :: rebuild = 1
#endif
  fi;
  d_step {
#ifndef NO_MEND
    collect_orphans();
    collect_pool();
#endif
    n = 0;
  }
  check_sound()
}
