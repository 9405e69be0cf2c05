"""Stable sorting: one pass by the highest bits that differ, then each bucket by its lower bits, in the caches.

The kernels are ordinary ones over arrays, scratch included, so that a module can hold them; sorter.py plans and calls
them. Nothing depends on how many threads there are. Knuth, The Art of Computer Programming 3, 5.2.5.

The tasks of a sort:
    which bits differ | how many keys of a block have which digit | where each block's keys go | keys -> other_keys,
    by the digit | each bucket: by its lower bits, back and forth, into keys
"""

from __future__ import annotations

from .. import intrinsics as mt
from .. import value_types as _types
from ..dtypes import i32, i64, u64
from ..frontend.function import func, template
from ..kernel import kernel
from .ordering import rank_of

DIGIT_BITS = 11  # 2048 counters are 8 KiB, a half of the first cache with the bucket that they count
RADIX = 1 << DIGIT_BITS
SHORT = 40  # keys: so few are inserted in order
_BUCKET = 13  # log2 of keys that a bucket is to have: what two arrays of it take is in the second cache

_Array = _types.ndarray


@func
def digit_of(key: template(), shift: i32, mask: i32, order: template()):
    """The digit of a key, of the bits above `shift`."""
    return i32(rank_of(key, order) >> order.word(shift)) & mask


@func
def put(keys: template(), values: template(), at: i32, key: template(), value: template(), pairs: template()):
    keys[at] = key
    if mt.static(pairs):
        values[at] = value


@func
def move(
    keys: template(), values: template(), to_keys: template(), to_values: template(), begin: i32, end: i32, counts: template(),
    lane: i32, shift: i32, mask: i32, order: template(), pairs: template(),
):  # fmt: skip
    """Moves keys to where their digits' counters say, and counts them up."""
    for i in range(begin, end):
        key = keys[i]
        digit = digit_of(key, shift, mask, order)
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
def sort_by_digit(
    keys: template(), values: template(), to_keys: template(), to_values: template(), begin: i32, end: i32, counts: template(),
    lane: i32, shift: i32, mask: i32, order: template(), pairs: template(),
):  # fmt: skip
    """One stable pass over a bucket by one digit."""
    count(keys, begin, end, counts, lane, shift, mask, order)
    at = begin
    for d in range(mask + i32(1)):
        number = counts[lane, d]
        counts[lane, d] = at
        at += number
    move(keys, values, to_keys, to_values, begin, end, counts, lane, shift, mask, order, pairs)


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
def sort_bucket(
    keys: template(), values: template(), other_keys: template(), other_values: template(), begin: i32, end: i32,
    counts: template(), lane: i32, high: i32, order: template(), pairs: template(),
):  # fmt: skip
    """Sorts what lies in the other arrays by the bits below `high`, into keys and values."""
    if end - begin <= i32(SHORT):
        insert_in_order(other_keys, other_values, keys, values, begin, end, order, pairs)
    else:
        passes = (high + i32(DIGIT_BITS - 1)) // i32(DIGIT_BITS)
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
            for i in range(begin, end):
                keys[i] = other_keys[i]
                if mt.static(pairs):
                    values[i] = other_values[i]


@func
def sort_all(
    keys: template(), values: template(), other_keys: template(), other_values: template(), counts: template(),
    ends: template(), bits: template(), order: template(), pairs: template(),
):  # fmt: skip
    size = keys.shape[0]
    blocks = counts.shape[0]
    share = (size + blocks - i32(1)) // blocks
    for block in range(blocks):  # bits that are set in some keys, and that are clear in some
        some = order.word(0)
        unset = order.word(0)
        begin = i32(mt.min(i64(block) * share, size))
        end = i32(mt.min(i64(begin) + share, size))
        for i in range(begin, end):
            rank = rank_of(keys[i], order)
            some |= rank
            unset |= ~rank
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
        digit = i32(0)
        while digit < i32(DIGIT_BITS) and (size >> (digit + i32(_BUCKET))) > i32(0):
            digit += i32(1)
        digit = mt.min(digit, width)
        ends[RADIX] = width - digit
        ends[RADIX + 1] = (i32(1) << digit) - i32(1)
    for block in range(blocks):
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
        move(keys, values, other_keys, other_values, begin, end, counts, block, ends[RADIX], ends[RADIX + 1], order, pairs)
    for lane in range(blocks):
        buckets = ends[RADIX + 1] + i32(1)
        for b in range(lane, buckets, blocks):
            begin = i32(0)
            if b > i32(0):
                begin = ends[b - i32(1)]
            sort_bucket(keys, values, other_keys, other_values, begin, ends[b], counts, lane, ends[RADIX], order, pairs)


@kernel
def sort_keys(
    keys: _Array(ndim=1), other_keys: _Array(ndim=1), counts: _Array(i32, 2), ends: _Array(i32, 1), bits: _Array(u64, 2),
    order: template(),
):  # fmt: skip
    """Sorts keys; see Sorter."""
    sort_all(keys, keys, other_keys, other_keys, counts, ends, bits, order, False)


@kernel
def sort_pairs(
    keys: _Array(ndim=1), values: _Array(ndim=1), other_keys: _Array(ndim=1), other_values: _Array(ndim=1),
    counts: _Array(i32, 2), ends: _Array(i32, 1), bits: _Array(u64, 2), order: template(),
):  # fmt: skip
    """Sorts keys, and values with them; see Sorter."""
    sort_all(keys, values, other_keys, other_values, counts, ends, bits, order, True)
