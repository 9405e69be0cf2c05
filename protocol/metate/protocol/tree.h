/* The protocol of a tree block as code: how cells are found, activated and deactivated by any number
 * of workers at once, and how slots come back. libmetate and generated kernels compile this same
 * file: freestanding C11 (and C++), nothing but the compiler's builtins.
 *
 * Rules, with the memory order of each step where it is written:
 *
 *   slots       Each worker takes slots from his magazine, a stack as the free list, of a line of its own; empty,
 *               it gets a run from the free list, else from high_water. The heads of all these are
 *               changed by compare-exchange [acq_rel]. Who finds nothing looks into everybody's magazines, and
 *               again while a run is being moved (counted [seq_cst] before and after), so that slots that lie
 *               elsewhere make no need fail. Where a launch ends the magazines are emptied.
 *               On a device collecting fills the magazines, evenly; workers take from them, then from the free
 *               list, to which slots go back that were taken in vain, then from high_water by one addition.
 *               Who finds nothing looks again where a slot has gone back meanwhile (counted [acq_rel] behind it).
 *   activation  Test first. Take a slot, fill it with background, write
 *               coordinates and state, publish its number by one compare-exchange [acq_rel] of the
 *               link or bucket that was 0. Who loses gives his slot back and goes on with the
 *               winner's. Readers load links, buckets and lengths with acquire: they see what was
 *               filled. A bitmasked cell is activated by one fetch-or: it holds background already.
 *   lists       All chunks up to an index are linked before the length passes it. Lengths grow by
 *               compare-exchange.
 *   hash        A new slot's number goes into the first bucket that is 0, from its home on; a lost
 *               bucket is looked at again. Buckets never go back to 0 while tasks run, so one who
 *               reaches a 0 has seen every earlier entry of its coordinates. A slot belongs to its
 *               container's cell only where `next` is the container's stamp `any`: a cell that was
 *               given up and made anew gets another stamp, and nothing old comes back.
 *   deactivation  Unlink by exchange [acq_rel] (pointer), fetch-and (bitmasked), compare-exchange to
 *               the tombstone (hash), length and links to 0 (lists); push the slot on the pool's
 *               pending list. Slots, states and coordinates stay as they are: another worker may
 *               still read or write one. Tasks only push on pending lists, so they know no ABA.
 *   collect     When the task is over one worker takes the pending lists, pools in preorder, gives up
 *               what the slots' own containers link (later pools), sets states to 0 and puts the slots
 *               on the free lists. Nothing here need be atomic; counters are anyway.
 *   sort        Where no task runs, by one worker: active slots become 1 to n in the order of their
 *               coordinates, in place; links and tables follow.
 *   sweep       Where stores, appends or activations of the task may have met deactivations of the
 *               same cells: inactive bitmasked cells get background again, lists lose what is linked
 *               beyond their length. A store that races a deactivation of its cell may be lost.
 *
 * Free lists and magazines are stacks whose heads carry a tag that every change raises (ABA); a late pop may read
 * `next` of a slot that was taken: it is atomic for that reason alone.
 *
 * In a *checked* view (`pools` not NULL: libmetate) constants come from the host, never from the
 * block, and no slot number above the host's own `physical` is followed: a damaged block cannot
 * lead an access outside. Names: `key` is a slot's coordinates as its metadata has them; `along` has
 * one entry per axis number. */
#ifndef METATE_PROTOCOL_TREE_H
#define METATE_PROTOCOL_TREE_H

#include "metate/protocol/cells.h"
#include "metate/protocol/paths.h"
#include "metate/protocol/sort.h"
#include "metate/protocol/task.h"
#include "metate/protocol/view.h"

#endif
