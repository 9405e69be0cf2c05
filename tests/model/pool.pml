/* Activation of cells of one pool by several workers: links, free list, high water, slack slots.
 *
 * The code is metate_view_claim, _take and _give_back of protocol/metate/protocol/tree.h: 1 test the link, 2 take
 * a slot, 3 fill it, 4 publish it or give it back; a step here is one atomic access there. Every run starts
 * from each sound pool of its size (some cells active, some slots on the free list, the rest never handed
 * out; MOST_LINKED and MOST_FREE leave some out), lets every worker activate any cells, and asks for a sound
 * pool at the end: so tasks may follow each other in any number.
 *
 * Sound: a slot is linked once, or on the free list once, or above high water, or nothing else; no
 * slot is lost; `used` counts the links; linked slots have a state, the coordinates of their link,
 * and exactly what the workers stored in them on top of the background. And: a need of at most
 * `capacity` never reports exhaustion, a larger one always does, and `needed` is a true lower bound.
 *
 * Weak memory. A step of the model is one access to one word, and steps come in one order. The code asks the
 * machine for less; here is why that is enough in the C11 model, and so on x86 (loads acquire, stores
 * release, locked instructions order all) and on ARM (ldar or ldapr, stlr, casal or ldaxr/stlxr):
 *  - What a slot holds. Filled by plain stores, then the link's exchange [release]; whoever goes through the
 *    link has read it by a load, or by the exchange that he lost, [acquire]: he sees the filled cell and the
 *    coordinates, and his own stores come after. A lost exchange therefore needs acquire as well.
 *  - A slot that comes back. give_back stores `state` and `next`, then exchanges the head [release]; take
 *    reads the head [acquire, also where its exchange fails, since it goes on to read `next`]. All changes
 *    of the head while tasks run are read-modify-writes, so any later head stands in the release sequence of
 *    every earlier push: who reads a head has seen the `next` of all slots on that list, and everything the
 *    loser did to the slot. In give_back a failed exchange may be relaxed: nothing is read through it.
 *  - Late pops. `next` [relaxed] of a slot taken meanwhile may be anything: then a pop has raised the tag and
 *    the exchange fails. If the exchange succeeds, the head's word was the same all the time (one location
 *    has one order of values, and a value with its tag comes once), the slot was on the list all the time,
 *    nobody wrote its `next`, and the value read is the pushed one by the point above. `next` is atomic, so
 *    the late read is no data race. The tag has 32 bits: a worker would have to sleep between its load and
 *    its exchange for an exact multiple of 2^32 changes of one pool's head.
 *  - high_water [relaxed]: only its atomicity counts, each number is handed out once. A slot above it was
 *    touched by nobody since the task began, and beginning a task orders all that was before.
 *  - No exhaustion without need. Let S be the workers that read an empty head and have not raised high_water
 *    yet. Then linked + held + free + S <= capacity + slack at all times: only reading an empty head
 *    increases the sum, and then free = 0, linked <= need <= capacity, held + S <= workers. A raise comes
 *    out of S, so it finds high_water < physical. Reordering does not break it: a worker may read the head
 *    while its own exchange of a link is still under way, but if that exchange wins, its slot counts as
 *    linked (one win a link), and if it loses, the head was changed by the worker itself before, a location
 *    that it then cannot read older. (The last worker to link holds nothing: one slack slot less would do.)
 *  - used, status, status_level, status_needed [relaxed]: sums and maxima, read when the task is over.
 *
 *  - On a device (-DDEVICE) free slots lie in magazines too, which tasks only empty, and high_water is raised by one addition. Who
 *    finds nothing has seen each magazine empty (for good), high_water at its end (for good), then the free list; if `returned` has not
 *    changed since he began, whatever is on the free list now came from workers that have not counted it yet, one slot each: they
 *    hold no other. So linked + workers > physical, as above. `returned` [acq_rel, acquire]: who reads a count sees the pushes before it.
 *
 * check three workers, one cell each | -DWORKERS=3 -DOPS=1 -DLINKS=2 -DCAPACITY=2
 * check two workers, three cells | -DWORKERS=2 -DOPS=3 -DLINKS=3 -DCAPACITY=3
 * check three workers, two cells each | -DWORKERS=3 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DMOST_FREE=0 -DMOST_LINKED=0
 * check need above capacity | -DWORKERS=2 -DOPS=2 -DLINKS=4 -DCAPACITY=1
 * check one slack slot less would do | -DWORKERS=3 -DOPS=1 -DLINKS=2 -DCAPACITY=2 -DSLACK=2
 * ends  every loop ends | -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2
 * check a device, two workers | -DDEVICE -DWORKERS=2 -DOPS=2 -DLINKS=2 -DCAPACITY=2
 * check a device, three workers, one cell | -DDEVICE -DWORKERS=3 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DMOST_LINKED=0
 * check a device, need above capacity | -DDEVICE -DWORKERS=2 -DOPS=1 -DLINKS=2 -DCAPACITY=1
 * ends  a device, every loop ends | -DDEVICE -DWORKERS=2 -DOPS=1 -DLINKS=2 -DCAPACITY=2
 * fault a device: slots go back to magazines | -DDEVICE -DWORKERS=2 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DBACK_TO_MAGAZINE | loaded[k]
 * fault a device: who raised too far keeps the slot | -DDEVICE -DWORKERS=2 -DOPS=1 -DLINKS=2 -DCAPACITY=1 -DSLACK=1 -DRAISES_TOO_FAR | invalid array index
 * fault no tag in the head | -DWORKERS=3 -DOPS=1 -DLINKS=2 -DCAPACITY=2 -DNO_TAG | parents[s] + listed[s]
 * fault a pop does not raise the tag | -DWORKERS=3 -DOPS=2 -DLINKS=2 -DCAPACITY=2 -DPOP_KEEPS_TAG -DPUSH_KEEPS_TAG | parents[s] + listed[s]
 * fault no slack slots | -DWORKERS=2 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DSLACK=0 | need > 1
 * fault one slack slot for three workers | -DWORKERS=3 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DSLACK=1 | need > 1
 * fault published before it is filled | -DWORKERS=2 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DPUBLISH_FIRST | !(content[slot] & 128)
 * fault linked by a plain store | -DWORKERS=2 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DPLAIN_LINK | content[s] == stored[l]
 * fault the loser keeps its slot | -DWORKERS=2 -DOPS=1 -DLINKS=1 -DCAPACITY=1 -DLOSER_KEEPS | parents[s] + listed[s]
 * fault high water raised by a plain store | -DWORKERS=2 -DOPS=1 -DLINKS=2 -DCAPACITY=2 -DPLAIN_HIGH_WATER | coordinate[s] == l
 */
#ifndef SLACK
#define SLACK WORKERS
#endif
#define PHYSICAL (CAPACITY + SLACK)
#ifndef MOST_FREE
#define MOST_FREE PHYSICAL
#endif
#ifndef MOST_LINKED
#define MOST_LINKED LINKS
#endif
#define GARBAGE 128 /* what a slot holds that nobody has filled */

byte link[LINKS];          /* slot numbers, 0 = inactive */
#ifdef DEVICE
#define STACKS 3 /* the free list and two magazines */
#else
#define STACKS 1
#endif
byte head[STACKS], tag[STACKS]; /* free_head, heads of magazines: one word there, so always read and written together */
bool loaded[STACKS];            /* may a magazine have slots? */
byte returned;
byte next[PHYSICAL + 1];   /* metadata: next slot of the free list */
byte state[PHYSICAL + 1];  /* metadata: 0 = not active */
byte coordinate[PHYSICAL + 1];
byte content[PHYSICAL + 1]; /* the cell: 0 = background, bit w = worker w stored something */
byte high_water, used;
bool status;
byte needed;

byte stored[LINKS]; /* what must be found in the end: bit w = worker w stored something here */
byte wanted;        /* bit l = some worker wants cell l, or it was active from the start */
byte missed;        /* bit l = some worker was told that there is no slot for cell l */
hidden byte parents[PHYSICAL + 1], listed[PHYSICAL + 1]; /* of the last step alone, not part of a state */

#ifdef NO_TAG
#define same_head(h, t) (head[k] == h)
#else
#define same_head(h, t) (head[k] == h && tag[k] == t)
#endif
#ifdef POP_KEEPS_TAG
#define POP_TAG tag[k]
#else
#define POP_TAG tag[k] + 1
#endif
#ifdef PUSH_KEEPS_TAG
#define PUSH_TAG tag[k]
#else
#define PUSH_TAG tag[k] + 1
#endif

/* The top of stack k, in `slot`. */
inline pop() {
  d_step { h = head[k]; t = tag[k]; }
  do
  :: h == 0 -> break
  :: else ->
     n = next[h]; /* of a slot that another worker may have taken meanwhile */
     d_step {
       if
       :: same_head(h, t) -> slot = h; head[k] = n; tag[k] = POP_TAG; content[slot] = GARBAGE; h = 0;
       :: else -> h = head[k]; t = tag[k];
       fi;
       n = 0;
     }
  od;
  atomic { h = 0; t = 0; }
}

/* Step 2. */
#ifdef DEVICE
inline pop_magazine(m) {
  if
  :: slot == 0 && loaded[m] ->
     k = m;
     pop();
     k = 0;
     if
     :: slot == 0 -> loaded[m] = false
     :: else -> skip
     fi
  :: else -> skip
  fi
}

inline take() {
  do
  :: back = returned;
     if
     :: me % 2 -> pop_magazine(1); pop_magazine(2)
     :: else -> pop_magazine(2); pop_magazine(1)
     fi;
     if
     :: slot == 0 && high_water < PHYSICAL ->
        d_step { high_water++; n = high_water; }
        if
#ifdef RAISES_TOO_FAR
        :: true -> d_step { slot = n; content[slot] = GARBAGE; n = 0; }
#else
        :: n <= PHYSICAL -> d_step { slot = n; content[slot] = GARBAGE; n = 0; }
        :: else -> d_step { high_water--; n = 0; }
#endif
        fi
     :: else -> skip
     fi;
     if
     :: slot == 0 -> pop()
     :: else -> skip
     fi;
     if
     :: slot || returned == back -> back = 0; break
     :: else -> skip
     fi
  od
}
#else
inline take() {
  pop();
  if
  :: slot -> skip
  :: else ->
     n = high_water;
     do
     :: slot || n >= PHYSICAL -> break
     :: else ->
        d_step {
          if
#ifdef PLAIN_HIGH_WATER
          :: true -> slot = n + 1; high_water = slot; content[slot] = GARBAGE;
#else
          :: high_water == n -> slot = n + 1; high_water = slot; content[slot] = GARBAGE;
          :: else -> n = high_water;
#endif
          fi
        }
     od;
     n = 0;
  fi
}
#endif

/* Step 4, lost. */
inline give_back() {
#ifndef LOSER_KEEPS
  state[slot] = 0;
#ifdef BACK_TO_MAGAZINE
  k = 1 + me % 2;
#endif
  d_step { h = head[k]; t = tag[k]; }
  do
  :: next[slot] = h;
     d_step {
       if
       :: same_head(h, t) -> head[k] = slot; tag[k] = PUSH_TAG; n = 1;
       :: else -> h = head[k]; t = tag[k];
       fi
     }
     if
     :: n -> break
     :: else -> skip
     fi
  od;
  atomic { h = 0; t = 0; n = 0; k = 0; }
#ifdef DEVICE
  returned++;
#endif
#endif
  skip
}

/* Step 3. Nobody else reads these before step 4, but for `state`: deactivate.pml has its walkers. */
inline fill(l) {
  d_step { content[slot] = 0; coordinate[slot] = l; state[slot] = 1; }
}

inline report(n) {
  d_step {
    status = true;
    if
    :: needed < n -> needed = n;
    :: else -> skip;
    fi
  }
}

/* Steps 1 to 4; the slot of cell l in `slot`, 0 if there is none. */
inline activate(l) {
  slot = link[l];
  if
  :: slot -> skip
  :: else ->
     take();
     if
     :: slot == 0 ->
        slot = link[l]; /* another worker may have linked the cell meanwhile */
        if
        :: slot -> skip
        :: else -> report(CAPACITY + 1); missed = missed | (1 << l);
        fi
     :: else ->
#ifndef PUBLISH_FIRST
        fill(l);
#endif
        d_step {
          won = link[l];
          if
#ifdef PLAIN_LINK
          :: true -> link[l] = slot; won = 0;
#else
          :: won == 0 -> link[l] = slot;
          :: else -> skip;
#endif
          fi
        }
        if
        :: won == 0 ->
#ifdef PUBLISH_FIRST
           fill(l);
#endif
           d_step { used++; n = used; }
           if
           :: n > CAPACITY -> report(n)
           :: else -> skip
           fi;
           n = 0
        :: else -> give_back(); slot = won; won = 0
        fi
     fi
  fi
}

/* Activates OPS cells, all different, in any order, and stores something in each. */
proctype worker(byte me) {
  byte slot, h, t, n, k, won, l, asked, todo = OPS;
#ifdef DEVICE
  byte back;
#endif
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
     activate(l);
     if
     :: slot ->
        d_step { /* an atomic operation on the cell */
          assert(!(content[slot] & GARBAGE));
          content[slot] = content[slot] | (1 << me);
          stored[l] = stored[l] | (1 << me);
          slot = 0; l = 0;
        }
     :: else -> l = 0
     fi
  od
}

/* Any sound pool: `linked` cells linked to the first slots, `listed` slots on the free list or, by turns, in magazines. Slot
 * numbers are names, so other orders differ from these by renaming. */
inline any_sound_pool() {
  atomic {
    select(linked : 0 .. MOST_LINKED);
    select(free : 0 .. MOST_FREE);
    if
    :: linked <= CAPACITY && linked + free <= PHYSICAL -> skip
    :: else -> goto none
    fi
  };
  d_step {
    used = linked;
    high_water = linked + free;
    for (s : 1 .. linked) {
      link[s - 1] = s; state[s] = 1; coordinate[s] = s - 1; wanted = wanted | (1 << (s - 1));
    }
    for (s : linked + 1 .. linked + free) {
      k = s % STACKS; next[s] = head[k]; head[k] = s; loaded[k] = true;
    }
    s = 0; k = 0; linked = 0; free = 0;
  }
}

inline check_sound() {
  d_step {
    for (s : 1 .. PHYSICAL) {
      parents[s] = 0; listed[s] = 0;
    }
    /* the free list is a list of slots that were handed out, and ends; so are magazines */
    for (k : 0 .. STACKS - 1) {
      s = head[k];
      assert(k == 0 || s == 0 || loaded[k]);
      do
      :: s == 0 -> break
      :: else ->
         assert(s <= high_water && listed[s] == 0);
         listed[s] = 1; s = next[s];
      od;
    }
    n = 0;
    for (l : 0 .. LINKS - 1) {
      s = link[l];
      if
      :: s -> n++; parents[s]++; assert(s <= high_water && coordinate[s] == l && content[s] == stored[l]);
      :: else -> assert(stored[l] == 0);
      fi
    }
    for (s : 1 .. PHYSICAL) {
      if
      :: s <= high_water -> assert(parents[s] + listed[s] == 1);
      :: else -> assert(parents[s] + listed[s] == 0);
      fi;
      assert((state[s] != 0) == (parents[s] != 0));
    }
    assert(used == n && high_water <= PHYSICAL);
    need = 0;
    for (l : 0 .. LINKS - 1) {
      need = need + ((wanted >> l) & 1);
      assert((link[l] != 0 || (missed >> l & 1)) == (wanted >> l & 1));
    }
    if
    :: status -> assert(need > CAPACITY && needed <= need && needed > CAPACITY);
    :: else -> assert(need <= CAPACITY && missed == 0);
    fi
  }
}

init {
  byte s, l, n, k, need, linked, free;
  any_sound_pool();
  atomic {
    for (n : 0 .. WORKERS - 1) {
      run worker(n);
    }
    n = 0;
  }
  _nr_pr == 1; /* all workers have ended */
  check_sound();
none: skip
}
