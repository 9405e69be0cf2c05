"""Whole fields, levels and lists on a device: lists that many invocations append to, copies of members, what is done again."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
I1 = mt.types.ndarray(mt.i32, 1)
LISTS, MOST, CHUNK = 7, 60, 8
Lists = mt.types.SNodeTreeBuilder().dense(mt.i, LISTS).dynamic(mt.j, MOST, CHUNK, name="list").place(a=mt.i32).build()


@pytest.fixture(params=["1"] if device_tests.ARCH else ["1", "4"])
def device(request, monkeypatch):
    """With invocations one after the other, and with four threads of them."""
    monkeypatch.setenv("METATE_SIMT_THREADS", request.param)
    with mt.Context(arch=ARCH) as context:
        yield context


@mt.kernel
def append(t: Lists, keys: I1, places: I1):
    for k in keys:
        places[k] = mt.append(t.a.parent(), [keys[k]], k)


@pytest.mark.parametrize("slots", [LISTS * 8, 9])
@pytest.mark.parametrize("values", [40, 300, 3000])
def test_lists_hold_what_was_appended_and_no_more(device, rng, values, slots):
    """Lists that are not full, full ones, and those of a pool that has too few slots for them."""
    t = Lists.new(capacity={"list": slots})
    keys, places = rng.integers(0, LISTS, values).astype(np.int32), np.full(values, -7, np.int32)
    kept = [min(np.count_nonzero(keys == i), MOST) for i in range(LISTS)]
    fits = values == sum(kept) and sum(-(-n // CHUNK) for n in kept) <= slots
    if fits:
        append(t, keys, places)
    else:
        with pytest.raises(mt.errors.CapacityError):
            append(t, keys, places)
    t.check()
    lengths = [t.length(i) for i in range(LISTS)]
    if slots == LISTS * 8:
        assert lengths == kept
    else:  # a list ends with the last chunk that it got
        assert all(n == k or (n < k and n % CHUNK == 0) for n, k in zip(lengths, kept, strict=True))
    for i in range(LISTS):
        got = places[(keys == i) & (places >= 0)]
        assert sorted(got) == list(range(lengths[i])), "each place was given once"
        assert all(t.a[i, places[k]] == k for k in np.flatnonzero((keys == i) & (places >= 0)))
    assert set(places[places < 0]) <= {-1}


@mt.kernel
def append_runs(t: Lists, n: mt.i32, gone: mt.i32):
    for k in range(n):
        for m in range(3):
            t.a[k % LISTS].append(3 * k + m)
        if k % LISTS == gone:
            mt.deactivate(t.a.parent(), [gone])


def test_a_list_that_is_given_up_meanwhile(device):
    """Whatever came before and after: the tree is whole, and all lists but that one hold everything."""
    t = Lists.new(capacity={"list": LISTS * 64})
    append_runs(t, 18 * LISTS, 3)
    t.check()
    assert [t.length(i) for i in range(LISTS) if i != 3] == [54] * (LISTS - 1)
    for i in (0, 6):
        assert sorted(int(t.a[i, j]) for j in range(54)) == [3 * k + m for k in range(i, 18 * LISTS, LISTS) for m in range(3)]
    assert t.length(3) <= MOST


# ---- members that are one piece of memory go as they are


def fields():
    """{what it is: (field, shape)}; of one piece in the array's order, and not."""
    made = {
        "numbers": mt.field(mt.f32, (30, 40)),
        "vectors": mt.Vector.field(3, mt.f32, (30, 40)),
        "components apart": mt.Vector.field(3, mt.f32, (30, 40), layout=mt.Layout.SOA),
        "other order": mt.field(mt.f32, (30, 40), order="ji"),
        "booleans": mt.field(mt.u1, (30, 40)),
    }
    blocks, beside = mt.field(mt.f32), mt.field(mt.f32)
    mt.root.dense(mt.ij, (5, 8)).dense(mt.ij, (6, 5)).place(blocks, beside)
    below = mt.field(mt.f32)
    mt.root.pointer(mt.ij, (5, 8)).dense(mt.ij, (6, 5)).place(below)
    return made | {"blocks": blocks, "beside": beside, "below a pointer": below}


def test_members_go_and_come_back(device, rng):
    @mt.kernel
    def everywhere(x: mt.template()):
        for i, j in mt.ndrange(30, 40):
            x[i, j] = 1

    for name, field in fields().items():
        everywhere(field)
        array = rng.random(field.to_numpy().shape) * 9
        array = array > 4 if name == "booleans" else array.astype(np.float32)
        field.from_numpy(array)
        np.testing.assert_array_equal(field.to_numpy(), array, err_msg=name)


def test_what_is_done_again_gives_the_same(device):
    """By the host's copy the first time, by a kernel from then on."""
    above, other = mt.root.pointer(mt.ij, 4), mt.root.pointer(mt.ij, 4)
    x, y, z = mt.field(mt.f32), mt.field(mt.f32), mt.Vector.field(2, mt.i32, 8)
    above.dense(mt.ij, 4).place(x)
    other.bitmasked(mt.ij, 4).place(y)
    lists = mt.root.dense(mt.i, 3).dynamic(mt.j, 20, chunk_size=4)
    numbers, w = mt.field(mt.i32), mt.Vector.field(2, mt.i32, 8)
    lists.place(numbers)
    whole, real = mt.field(mt.u64), mt.field(mt.f64)
    mt.root.pointer(mt.i, 3).dense(mt.i, 4).place(whole, real)

    @mt.kernel
    def write(turn: mt.i32):
        for i, j in mt.ndrange(4, 4):
            x[i * 4, j] = i + turn
            y[i * 3, j] = j + turn
        for i in range(3):
            for k in range(7):
                numbers[i].append(k)
        for i in z:
            z[i] = [i, turn]

    for turn in range(1, 5):
        write(turn)
        there = x.to_numpy() != 0
        assert there.sum() == 16 and [lists.length(i) for i in range(3)] == [7, 7, 7]
        x.copy_from(y)
        w.copy_from(z)
        active = np.kron(np.array([[1, 0, 0, 0]] * 4), np.ones((4, 4)))
        np.testing.assert_array_equal(x.to_numpy(), np.where(active, y.to_numpy(), 0))
        np.testing.assert_array_equal(w.to_numpy(), z.to_numpy())
        assert w.to_numpy()[5].tolist() == [5, turn]
        whole[4] = 1
        whole.fill((1 << 64) - turn)
        real.fill(turn / 3)
        y.fill(turn)
        assert whole.to_numpy().tolist() == [0] * 4 + [(1 << 64) - turn] * 4 + [0] * 4
        assert real.to_numpy().tolist() == [0.0] * 4 + [turn / 3] * 4 + [0.0] * 4
        assert y.to_numpy().sum() == 16 * turn
        for level in (above, other, lists):
            level.deactivate_all()
        assert not x.to_numpy().any() and not y.to_numpy().any() and [lists.length(i) for i in range(3)] == [0, 0, 0]
