/* The executor of threads: seats in jobs, threads that look for work, sleep and are woken.
 *
 * The code is runtime/executor/threads/executor.cpp; a step here is one access to one word there, the ticket's two halves
 * being one word. CALLERS threads run JOBS jobs each, one after the other, in slots of their own; HELPERS threads look,
 * take a seat, work, look again, and may stop looking and sleep at any time. With -DMEET a job's workers wait for one another, so that
 * a job whose helpers never come is stuck: a long loop wakes whoever it needs.
 *
 * Sound: a worker's number is one worker's, nobody is in a job whose caller has left, and no run is stuck.
 *
 * Weak memory. Whoever takes a seat reads the ticket by a read-modify-write [acquire] that the opening store [release] heads, and
 * so sees the job. The last access of a helper to a job comes before its addition to `done`, which the caller reads before it
 * leaves. The ticket (or `opened`) and `sleeping`, `done` and `isAwaited` are pairs in which each side writes one word and reads the other:
 * all accesses to them are sequentially consistent.
 *
 * check one caller, two helpers | -DCALLERS=1 -DHELPERS=2 -DJOBS=2
 * check two callers, one helper | -DCALLERS=2 -DHELPERS=1 -DJOBS=2
 * check they meet, one helper | -DCALLERS=1 -DHELPERS=1 -DJOBS=3 -DMEET
 * check they meet, two helpers | -DCALLERS=1 -DHELPERS=2 -DJOBS=2 -DMEET
 * fault a seat by a load and a store | -DCALLERS=1 -DHELPERS=2 -DJOBS=1 -DPLAIN_TICKET | alive
 * fault the caller leaves early | -DCALLERS=1 -DHELPERS=1 -DJOBS=1 -DLEAVES | alive
 * fault a ticket is left open | -DCALLERS=1 -DHELPERS=1 -DJOBS=1 -DSTAYS_OPEN | alive
 * fault asleep without a last look | -DCALLERS=1 -DHELPERS=1 -DJOBS=2 -DMEET -DNO_LAST_LOOK | finished
 * fault opened after the look for sleepers | -DCALLERS=1 -DHELPERS=1 -DJOBS=2 -DMEET -DOPENS_LATE | finished
 * fault waits without a last look | -DCALLERS=1 -DHELPERS=1 -DJOBS=1 -DWAITS_BLINDLY | finished
 */
bool opened[CALLERS];
byte wanted[CALLERS], taken[CALLERS]; /* the ticket */
byte gone[CALLERS];
bool isAwaited[CALLERS], notified[CALLERS];
byte sleeping, woken;
bool mutex;
/* Not the code's: what is asked of it. */
byte finished;                      /* callers with nothing left to run */
bool alive[CALLERS];               /* the job on the caller's stack */
byte present[CALLERS];             /* who has come to it */
bool busy[CALLERS * (HELPERS + 1)]; /* worker numbers */

#define lock() atomic { !mutex -> mutex = true }
#define unlock() mutex = false
#define BUSY busy[c * (HELPERS + 1) + seat]

inline work() {
  atomic {
    assert(alive[c]);
    assert(!busy[c * (HELPERS + 1) + seat]);
    BUSY = true;
    present[c]++
  }
#ifdef MEET
  present[c] == HELPERS + 1;
#endif
  atomic {
    assert(alive[c]);
    BUSY = false
  }
}

proctype caller(byte c) {
  byte jobs = JOBS, seat = 0, helpers;
  do
  :: jobs > 0 ->
    jobs--;
    d_step { /* nobody has a seat: the ticket is 0 */
      alive[c] = true;
      present[c] = 0;
      gone[c] = 0
    }
#ifndef OPENS_LATE
    d_step { wanted[c] = HELPERS; taken[c] = 0 }
#endif
    if
    :: !opened[c] -> opened[c] = true
    :: else
    fi;
    if
    :: sleeping > 0 ->
      lock();
      d_step {
        helpers = (sleeping < HELPERS -> sleeping : HELPERS);
        sleeping = sleeping - helpers;
        woken = woken + helpers
      }
      unlock()
    :: else
    fi;
#ifdef OPENS_LATE
    d_step { wanted[c] = HELPERS; taken[c] = 0 }
#endif
    work();
    if
    :: c > 0 -> opened[c] = false
    :: else /* the first slot is nearly every call's, and helpers look at it for good */
    fi;
#ifdef STAYS_OPEN
    helpers = (taken[c] < wanted[c] -> taken[c] : wanted[c]);
#else
    d_step {
      helpers = (taken[c] < wanted[c] -> taken[c] : wanted[c]);
      wanted[c] = 0;
      taken[c] = 0
    }
#endif
#ifndef LEAVES
    if
    :: gone[c] == helpers
    :: true -> /* long enough */
#ifdef WAITS_BLINDLY
      if
      :: gone[c] != helpers
      fi;
#endif
      lock();
      isAwaited[c] = true;
#ifndef WAITS_BLINDLY
      if
      :: gone[c] == helpers
      :: else ->
#endif
        do
        :: d_step { notified[c] = false; mutex = false } /* the wait lets go of the mutex */
          atomic { notified[c] && !mutex -> mutex = true }
          if
          :: gone[c] == helpers -> break
          :: else
          fi
        od
#ifndef WAITS_BLINDLY
      fi
#endif
      ;
      isAwaited[c] = false;
      unlock()
    fi;
#endif
    alive[c] = false
  :: else -> break
  od;
  finished++
}

/* When nothing can go on. */
proctype judge() {
  timeout -> assert(finished == CALLERS)
}

proctype helper() {
  byte c, seat;
end:
  do
  :: /* looks */
    c = 0;
    do
    :: c < CALLERS ->
      if
      :: opened[c] && taken[c] < wanted[c] ->
#ifdef PLAIN_TICKET
        seat = taken[c] + 1;
        taken[c] = seat;
#else
        d_step {
          seat = (taken[c] < wanted[c] -> taken[c] + 1 : 0);
          taken[c]++
        }
#endif
        if
        :: seat > 0 ->
          work();
          gone[c]++;
          if
          :: isAwaited[c] ->
            lock();
            notified[c] = true;
            unlock()
          :: else
          fi
        :: else
        fi
      :: else
      fi;
      c++
    :: else -> break
    od
  :: /* has looked for long */
    lock();
    sleeping++;
    c = 0;
    do
    :: c < CALLERS && !(opened[c] && taken[c] < wanted[c]) -> c++
    :: else -> break
    od;
#ifdef NO_LAST_LOOK
    c = CALLERS;
#endif
    if
    :: c < CALLERS -> sleeping--; unlock()
    :: else ->
      unlock();
end_asleep:
      atomic { woken > 0 && !mutex -> mutex = true }
      woken--;
      unlock()
    fi
  od
} /* never: threads end when their executor does */

init {
  byte k;
  atomic {
    run judge();
    k = 0;
    do
    :: k < HELPERS -> run helper(); k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < CALLERS -> run caller(k); k++
    :: else -> break
    od
  }
}
