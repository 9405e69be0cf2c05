"""Stable sorting: one pass by the highest bits that differ, then each bucket by its lower bits, in the caches.

The kernels are ordinary ones over arrays, scratch included, so that a module can hold them; sorter.py plans and calls
them. Nothing depends on how many threads there are. Knuth, The Art of Computer Programming 3, 5.2.5.

The tasks of a sort:
    which bits differ, and how many keys of a block have which digit if the highest bit is one of them | the digit |
    how many have it, if it is another one | where each block's keys go | keys -> other_keys, by the digit | each bucket:
    by its lower bits, back and forth between other_keys and a row of hot_keys, then into keys

A bucket is sorted where its worker's last one was, and is copied when it is in order: what is written to places all over it would
come from memory line by line.
"""

from __future__ import annotations

from .. import intrinsics as mt
from .. import value_types as _types
from ..dtypes import i32, i64, u32, u64
from ..frontend.function import func, template
from ..kernel import kernel
from .ordering import rank_of

DIGIT_BITS = 11  # 2048 counters are 8 KiB, a half of the first cache with the bucket that they count
RADIX = 1 << DIGIT_BITS
SHORT = 40  # keys: so few are inserted in order
_BUCKET = 13  # log2 of keys that a bucket is to have: what two arrays of it take is in the second cache
ROOM = 2 << _BUCKET  # keys of a bucket that is sorted in a hot row

_Array = _types.ndarray


@func
def digit_of(key: template(), shift: i32, mask: i32, order: template()):
    """The digit of a key, of the bits above `shift`."""
    return u32(rank_of(key, order) >> order.word(shift & i32(8 * order.word.bytes - 1))) & u32(mask)


@func
def put(keys: template(), values: template(), at: i32, key: template(), value: template(), pairs: template()):
    keys[at] = key
    if mt.static(pairs):
        values[at] = value


@func
def move(
    keys: template(), values: template(), to_keys: template(), to_values: template(), begin: i32, end: i32, counts: template(),
    lane: i32, row: i32, shift: i32, mask: i32, order: template(), pairs: template(),
):  # fmt: skip
    """Moves keys to where their digits' counters say, and counts them up. `row`: where the counters begin."""
    for i in range(begin, end):
        key = keys[i]
        digit = u32(row) + digit_of(key, shift, mask, order)
        at = counts[lane, digit]
        counts[lane, digit] = at + i32(1)
        to_keys[at] = key
        if mt.static(pairs):
            to_values[at] = values[i]


@func
def count(keys: template(), begin: i32, end: i32, counts: template(), lane: i32, shift: i32, mask: i32, order: template()):
    """How many keys have each digit."""
    for d in range(mask + i32(1)):
        counts[lane, d] = i32(0)
    for i in range(begin, end):
        digit = digit_of(keys[i], shift, mask, order)
        counts[lane, digit] = counts[lane, digit] + i32(1)


@func
def add_up(counts: template(), lane: i32, row: i32, mask: i32, begin: i32):
    """Numbers of keys become the places of the first ones."""
    at = begin
    for d in range(row, row + mask + i32(1)):
        number = counts[lane, d]
        counts[lane, d] = at
        at += number


@func
def sort_by_digit(
    keys: template(), values: template(), to_keys: template(), to_values: template(), begin: i32, end: i32, counts: template(),
    lane: i32, shift: i32, mask: i32, order: template(), pairs: template(),
):  # fmt: skip
    """One stable pass over a bucket by one digit."""
    count(keys, begin, end, counts, lane, shift, mask, order)
    add_up(counts, lane, i32(0), mask, begin)
    move(keys, values, to_keys, to_values, begin, end, counts, lane, i32(0), shift, mask, order, pairs)


@func
def insert_in_order(
    keys: template(), values: template(), to_keys: template(), to_values: template(), begin: i32, end: i32, order: template(),
    pairs: template(),
):  # fmt: skip
    """Copies a short bucket, each key behind those that do not stand after it."""
    for i in range(begin, end):
        key = keys[i]
        rank = rank_of(key, order)
        at = i
        while at > begin and rank_of(to_keys[at - i32(1)], order) > rank:
            to_keys[at] = to_keys[at - i32(1)]
            if mt.static(pairs):
                to_values[at] = to_values[at - i32(1)]
            at -= i32(1)
        to_keys[at] = key
        if mt.static(pairs):
            to_values[at] = values[i]


@func
def count_both(keys: template(), begin: i32, end: i32, counts: template(), lane: i32, bits: i32, high: i32, order: template()):
    """How many keys have each digit of the lowest bits, and each one of those between them and `high`: in one reading."""
    low_mask = (i32(1) << bits) - i32(1)
    high_mask = (i32(1) << (high - bits)) - i32(1)
    for d in range(low_mask + i32(1)):
        counts[lane, d] = i32(0)
    for d in range(RADIX, i32(RADIX + 1) + high_mask):
        counts[lane, d] = i32(0)
    for i in range(begin, end):
        low_digit = digit_of(keys[i], i32(0), low_mask, order)
        high_digit = u32(RADIX) + digit_of(keys[i], bits, high_mask, order)
        counts[lane, low_digit] = counts[lane, low_digit] + i32(1)
        counts[lane, high_digit] = counts[lane, high_digit] + i32(1)


@func
def copy(
    keys: template(), values: template(), to_keys: template(), to_values: template(), begin: i32, end: i32, first: i32,
    pairs: template(),
):  # fmt: skip
    """Copies what begins at `first` into [begin, end)."""
    for i in range(begin, end):
        to_keys[i] = keys[i - begin + first]
        if mt.static(pairs):
            to_values[i] = values[i - begin + first]


@func
def sort_bucket(
    keys: template(), values: template(), other_keys: template(), other_values: template(), hot_keys: template(),
    hot_values: template(), begin: i32, end: i32, counts: template(), lane: i32, high: i32, order: template(),
    pairs: template(),
):  # fmt: skip
    """Sorts what lies in the other arrays by the bits below `high`, into keys and values."""
    passes = (high + i32(DIGIT_BITS - 1)) // i32(DIGIT_BITS)
    room = hot_keys.shape[0] // counts.shape[0]
    if end - begin <= i32(SHORT):
        insert_in_order(other_keys, other_values, keys, values, begin, end, order, pairs)
    elif passes == i32(2) and end - begin <= room:
        first = lane * room
        bits = high >> i32(1)
        mask = (i32(1) << bits) - i32(1)
        count_both(other_keys, begin, end, counts, lane, bits, high, order)
        add_up(counts, lane, i32(0), mask, first)
        move(other_keys, other_values, hot_keys, hot_values, begin, end, counts, lane, i32(0), i32(0), mask, order, pairs)
        mask = (i32(1) << (high - bits)) - i32(1)
        add_up(counts, lane, i32(RADIX), mask, begin)
        last = first + end - begin
        move(hot_keys, hot_values, other_keys, other_values, first, last, counts, lane, i32(RADIX), bits, mask, order, pairs)
        copy(other_keys, other_values, keys, values, begin, end, begin, pairs)
    else:
        here = i32(0)  # whether they are in keys
        for p in range(passes):
            shift = high * p // passes
            mask = (i32(1) << (high * (p + i32(1)) // passes - shift)) - i32(1)
            if here == i32(0):
                sort_by_digit(other_keys, other_values, keys, values, begin, end, counts, lane, shift, mask, order, pairs)
            else:
                sort_by_digit(keys, values, other_keys, other_values, begin, end, counts, lane, shift, mask, order, pairs)
            here = i32(1) - here
        if here == i32(0):
            copy(other_keys, other_values, keys, values, begin, end, begin, pairs)


@func
def sort_all(
    keys: template(), values: template(), other_keys: template(), other_values: template(), hot_keys: template(),
    hot_values: template(), counts: template(), ends: template(), bits: template(), order: template(), pairs: template(),
):  # fmt: skip
    size = keys.shape[0]
    blocks = counts.shape[0]
    share = (size + blocks - i32(1)) // blocks
    most = i32(0)  # bits of the digit
    while most < i32(mt.min(DIGIT_BITS, order.bits)) and (size >> (most + i32(_BUCKET))) > i32(0):
        most += i32(1)
    for block in range(blocks):  # bits that are set in some keys, and that are clear in some
        some = order.word(0)
        unset = order.word(0)
        begin = i32(mt.min(i64(block) * share, size))
        end = i32(mt.min(i64(begin) + share, size))
        shift = i32(order.bits) - most
        mask = (i32(1) << most) - i32(1)
        for d in range(mask + i32(1)):
            counts[block, d] = i32(0)
        for i in range(begin, end):
            rank = rank_of(keys[i], order)
            some |= rank
            unset |= ~rank
            digit = digit_of(keys[i], shift, mask, order)
            counts[block, digit] = counts[block, digit] + i32(1)
        bits[block, 0] = u64(some)
        bits[block, 1] = u64(unset)
    for _ in range(1):
        some = u64(0)
        unset = u64(0)
        for block in range(blocks):
            some |= bits[block, 0]
            unset |= bits[block, 1]
        both = some & unset
        width = i32(0)  # of the bits up to the highest one that differs
        while (both >> u64(width)) != u64(0) and width < i32(64):
            width += i32(1)
        digit = mt.min(most, width)
        ends[RADIX] = width - digit
        ends[RADIX + 1] = (i32(1) << digit) - i32(1)
    for block in range(blocks):
        if ends[RADIX] != i32(order.bits) - most or ends[RADIX + 1] != (i32(1) << most) - i32(1):
            begin = i32(mt.min(i64(block) * share, size))
            end = i32(mt.min(i64(begin) + share, size))
            count(keys, begin, end, counts, block, ends[RADIX], ends[RADIX + 1], order)
    for _ in range(1):
        at = i32(0)
        for d in range(ends[RADIX + 1] + i32(1)):
            for block in range(blocks):
                number = counts[block, d]
                counts[block, d] = at
                at += number
            ends[d] = at
    for block in range(blocks):
        begin = i32(mt.min(i64(block) * share, size))
        end = i32(mt.min(i64(begin) + share, size))
        move(
            keys, values, other_keys, other_values, begin, end, counts, block, i32(0), ends[RADIX], ends[RADIX + 1], order, pairs
        )
    for lane in range(blocks):
        buckets = ends[RADIX + 1] + i32(1)
        for b in range(lane, buckets, blocks):
            begin = i32(0)
            if b > i32(0):
                begin = ends[b - i32(1)]
            sort_bucket(
                keys,
                values,
                other_keys,
                other_values,
                hot_keys,
                hot_values,
                begin,
                ends[b],
                counts,
                lane,
                ends[RADIX],
                order,
                pairs,
            )


@kernel
def sort_keys(
    keys: _Array(ndim=1), other_keys: _Array(ndim=1), hot_keys: _Array(ndim=1), counts: _Array(i32, 2), ends: _Array(i32, 1),
    bits: _Array(u64, 2), order: template(),
):  # fmt: skip
    """Sorts keys; see Sorter."""
    sort_all(keys, keys, other_keys, other_keys, hot_keys, hot_keys, counts, ends, bits, order, False)


@kernel
def sort_pairs(
    keys: _Array(ndim=1), values: _Array(ndim=1), other_keys: _Array(ndim=1), other_values: _Array(ndim=1),
    hot_keys: _Array(ndim=1), hot_values: _Array(ndim=1), counts: _Array(i32, 2), ends: _Array(i32, 1), bits: _Array(u64, 2),
    order: template(),
):  # fmt: skip
    """Sorts keys, and values with them; see Sorter."""
    sort_all(keys, values, other_keys, other_values, hot_keys, hot_values, counts, ends, bits, order, True)
