"""B10: automata on 8192 x 8192 cells: the Game of Life of a byte, a word, a bit, and others of one, two and four bits.

Those of bits are written in several ways, and once of bytes, to see what smaller cells are worth.
"""

import numpy as np
from harness.case import Case, Reference

TITLE = "automata of bytes, words and bits"
N = 8192
KINDS = {  # cells' bits and reach, hand-written variants
    "life": (1, 1, ("plain",)),
    "majority": (1, 2, ("plain", "sums of rows kept")),
    "cyclic": (2, 1, ("plain", "stores around the caches")),
    "growth": (4, 1, ("plain", "in vectors of bytes")),
}
SAID = {
    "life": "a generation of 8192 x 8192 cells",
    "majority": "majority of 5 x 5",
    "cyclic": "cyclic, four states",
    "growth": "growth to 15 by greater neighbours",
}
SPELLINGS = {  # bits of words, and how the kernel is written
    "if": (32, "struct-for, an if"),
    "func": (32, "ndrange, a func"),
    "one_loop": (32, "one loop, // and %"),
    "class": (64, "words of 64, a class, a nest"),
}


def inputs_of(states, dtype):
    def inputs(rng, n, word=0):
        return {"a": rng.integers(0, states, (n, n), np.uint8).astype(dtype)}

    return inputs


def around_of(a, reach, offsets):
    """What is at each offset from the cells that are not at the border."""
    n = len(a)
    return [a[reach + p : n - reach + p, reach + q : n - reach + q] for p, q in offsets]


NEAR = [(p, q) for p in (-1, 0, 1) for q in (-1, 0, 1) if p or q]


def life(a):
    count = sum(around_of(a, 1, NEAR))
    return (count == 3) | ((count == 2) & (a[1:-1, 1:-1] == 1))


def majority(a):
    return sum(around_of(a, 2, [(p, q) for p in range(-2, 3) for q in range(-2, 3)])) >= 13


def cyclic(a):
    own = a[1:-1, 1:-1]
    after = (own + 1) % 4
    return np.where(np.any([cell == after for cell in around_of(a, 1, [(-1, 0), (1, 0), (0, -1), (0, 1)])], axis=0), after, own)


def growth(a):
    own = a[1:-1, 1:-1]
    return np.minimum(own + sum((cell > own).astype(int) for cell in around_of(a, 1, NEAR)), 15)


def model_of(rule, reach, dtype):
    def model(inputs, steps, n, word=0):
        b = np.zeros((n, n), dtype)
        b[reach:-reach, reach:-reach] = rule(inputs["a"])
        return {"b": b}

    return model


def case(name, program, kind, dtype, bits, word=None, hand="", **more):
    _, reach, variants = KINDS[kind]
    file, function = (hand or f"automata:{kind}").split(":")
    return Case(
        name=name,
        level="DRAM",
        program=program,
        parameters={"n": N} if word is None else {"n": N, "word": word},
        smoke={"n": 128 if word is None else 192},
        inputs=INPUTS[kind, dtype],
        model=MODELS[kind, dtype],
        outputs=lambda n, word=0: {"b": ((n, n), dtype)},
        reference=Reference(file, function, lambda n, word=0: (n,), variants if bits < 8 else ("plain",)),
        unit="cell",
        work=lambda n, word=0: (n - 2 * reach) ** 2,
        tolerance=(0.0, 0.0),
        traffic=lambda n, word=0: bits * n * n // 4,
        limit=("copy", N * N * bits // 32 // 64 * 64),
        **more,
    )


def rule_inputs_and_models():
    rules = {"life": life, "majority": majority, "cyclic": cyclic, "growth": growth}
    pairs = [(kind, "uint8") for kind in rules] + [("life", "int32")]
    made = {pair: inputs_of(1 << KINDS[pair[0]][0], pair[1]) for pair in pairs}
    return made, {(kind, dtype): model_of(rules[kind], KINDS[kind][1], dtype) for kind, dtype in pairs}


INPUTS, MODELS = rule_inputs_and_models()
BLOCKS = "`bit_vectorize`: blocks below a pointer as Taichi wants them, whose cells at the border are computed as well."
NO_SUMS = dict.fromkeys(("taichi", "quadrants"), "gives 0 for every comparison of a sum in a loop of `bit_vectorize`")


def vectorized(hand):
    name, about = f"{SAID['life']}, 1 bit, bit_vectorize", {"headline": False, "note": BLOCKS}
    yield case(f"{name}, sums", "automata:life_vectorized_sums", "life", "uint8", 1, 32, hand, absent=NO_SUMS, **about)
    yield case(f"{name}, adders", "automata:life_vectorized_adders", "life", "uint8", 1, 32, hand, **about)


def cases():
    yield case(f"{SAID['life']}, u8", "life:bytes_", "life", "uint8", 8, hand="life:bytes_")
    yield case(f"{SAID['life']}, i32", "life:words", "life", "int32", 32, hand="life:words")
    for kind, (bits, _, _) in KINDS.items():
        file = "automata" if bits == 1 else "states"
        hand = "life:bits" if kind == "life" else ""
        unit = "1 bit" if bits == 1 else f"{bits} bits"
        if kind != "life":
            yield case(
                f"{SAID[kind]}, u8", f"{file}:{kind}_if", kind, "uint8", 8, 0, f"automata:{kind}_bytes", headline=False
            )  # fmt: skip
        for spelling, (word, how) in SPELLINGS.items():
            yield case(
                f"{SAID[kind]}, {unit}, {how}", f"{file}:{kind}_{spelling}", kind, "uint8", bits, word, hand,
                headline=spelling == "if",
            )  # fmt: skip
        if kind == "life":
            yield from vectorized(hand)
