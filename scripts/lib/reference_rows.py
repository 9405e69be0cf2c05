"""What docs/manual/reference/functions.md says of functions besides their docstrings: types, formulas, errors, examples.

An example's statements end in `; `, its last part is printed; `!` before: code that is only shown. reference.py makes the page.
"""

import dataclasses

import metate as mt


@dataclasses.dataclass(frozen=True)
class Group:
    """Functions with a text in common.

    Attributes:
        where: the module of the names, or None for methods of vectors and matrices.
        rows: name -> (formula, example).
    """

    title: str
    text: str
    where: object
    rows: dict[str, tuple[str, str]]


GROUPS = (
    Group(
        "Powers, exponentials, logarithms",
        "*Types*: floats to their own type; integers are taken as default_fp. Elementwise. *Errors*: none at run "
        "time: out of the domain the result is NaN "
        "or infinite (`metate check` finds where a NaN is made).",
        mt,
        {
            "sqrt": ("√x", "mt.sqrt(9.0)"),
            "rsqrt": ("1 / √x", "mt.rsqrt(4.0)"),
            "exp": ("eˣ", "mt.exp(1.0)"),
            "exp2": ("2ˣ", "mt.exp2(3.0)"),
            "log": ("ln x", "mt.log(mt.math.e)"),
            "log2": ("log₂ x", "mt.log2(8.0)"),
            "log10": ("log₁₀ x", "mt.log10(1000.0)"),
            "pow": ("xʸ; of integers exact, wrapping, y < 0 truncates", "mt.pow(2, 10)"),
        },
    ),
    Group(
        "Angles",
        "*Types*: floats to their own type; integers are taken as default_fp. Elementwise. In radians. *Errors*: none "
        "at run time.",
        mt,
        {
            "sin": ("sin x", "mt.sin(0.5)"),
            "cos": ("cos x", "mt.cos(0.5)"),
            "tan": ("tan x", "mt.tan(0.5)"),
            "asin": ("sin⁻¹ x, from -π/2 to π/2", "mt.asin(1.0)"),
            "acos": ("cos⁻¹ x, from 0 to π", "mt.acos(1.0)"),
            "atan": ("tan⁻¹ x, from -π/2 to π/2", "mt.atan(1.0)"),
            "atan2": ("angle of (x, y), from -π to π", "mt.atan2(1.0, -1.0)"),
            "sinh": ("(eˣ - e⁻ˣ) / 2", "mt.sinh(1.0)"),
            "cosh": ("(eˣ + e⁻ˣ) / 2", "mt.cosh(1.0)"),
            "tanh": ("sinh x / cosh x", "mt.tanh(1.0)"),
        },
    ),
    Group(
        "Rounding and signs",
        "*Types*: any number to its own type; `isnan` and `isinf` give u1. Elementwise. *Errors*: none.",
        mt,
        {
            "floor": ("⌊x⌋", "mt.floor(-1.5)"),
            "ceil": ("⌈x⌉", "mt.ceil(-1.5)"),
            "round": ("⌊\\|x\\| + ½⌋ with x's sign", "mt.round(2.5), mt.round(-0.4)"),
            "trunc": ("⌊\\|x\\|⌋ with x's sign", "mt.trunc(-1.5)"),
            "fract": ("x - ⌊x⌋", "mt.fract(-1.25)"),
            "abs": ("\\|x\\|; the least integer wraps to itself", "mt.abs(mt.Vector([-1.5, 2.0]))"),
            "sign": ("-1, 0, 1", "mt.sign(-3)"),
            "isnan": ("x ≠ x", "mt.isnan(mt.math.nan)"),
            "isinf": ("\\|x\\| = ∞", "mt.isinf(mt.math.inf)"),
        },
    ),
    Group(
        "Comparing and choosing",
        "*Types*: the operands' common type. Elementwise. *Errors*: structs that differ in type.",
        mt,
        {
            "min": ("the least; NaN loses", "mt.min(3, 1, 2)"),
            "max": ("the greatest; NaN loses", "mt.max(mt.Vector([1, 5]), 3)"),
            "select": ("a or b, by the condition; also of structs", "mt.select(mt.Vector([1, 0]), 7, 9)"),
        },
    ),
    Group(
        "Integers and bits",
        "*Types*: integers to their own type. Elementwise. *Errors*: floats; in debug mode a division by zero "
        "(`ZeroDivisionError_`); types of unequal width for `bit_cast`.",
        mt,
        {
            "raw_div": ("a / b towards zero", "mt.raw_div(-7, 2), -7 // 2"),
            "raw_mod": ("a - b · raw_div(a, b)", "mt.raw_mod(-7, 2), -7 % 2"),
            "bit_shr": ("⌊x / 2ⁿ⌋ of x without sign", "x = -16; mt.bit_shr(x, 28), x >> 28"),
            "popcnt": ("Σ bits", "mt.popcnt(255)"),
            "clz": ("width - 1 - ⌊log₂ x⌋", "mt.clz(1)"),
            "cast": ("integers wrap, floats truncate", "mt.cast(3.75, mt.i32)"),
            "bit_cast": ("the same bits", "mt.bit_cast(1.0, mt.i32)"),
        },
    ),
    Group(
        "Vectors, matrices, values",
        "*Types*: as in the description; without a type that of the elements. *Errors*: rows of unequal length, more "
        "than 65536 scalars, sizes that are not known while compiling.",
        mt,
        {
            "Vector": ("", "mt.Vector([1, 2]) * 2"),
            "Matrix": ("", "mt.Matrix([[1, 2], [3, 4]]) @ mt.Vector([1, 0])"),
            "zero": ("0", "mt.zero(mt.Vector([3, 4]))"),
            "one": ("1", "mt.one(2.5)"),
            "random": ("uniform on [0, 1), or all integers", "0 <= mt.random() < 1"),
            "randn": ("√(-2 ln u) cos 2πv", "abs(mt.randn()) < 9"),
            "svd": ("A = U Σ Vᵀ", "U, S, V = mt.svd(mt.Matrix([[0.0, 2.0], [1.0, 0.0]])); S"),
            "polar_decompose": ("A = R S", "R, S = mt.polar_decompose(mt.Matrix([[0.0, -2.0], [2.0, 0.0]])); R"),
            "sym_eig": ("A v = λ v", "values, vectors = mt.sym_eig(mt.Matrix([[2.0, 0.0], [0.0, 3.0]])); values"),
            "eig": ("A v = λ v, complex", "values, vectors = mt.eig(mt.Matrix([[0.0, -1.0], [1.0, 0.0]])); values"),
            "solve": ("A x = b", "mt.solve(mt.Matrix([[2.0, 0.0], [0.0, 4.0]]), mt.Vector([2.0, 2.0]))"),
        },
    ),
    Group(
        "Methods of vectors and matrices",
        "*Types*: of the value's scalars; lengths and `normalized` of floats. `v.x`, `v.xy`, `v[1:]`, `m[i, j]`, "
        "`m[i]`: [components](../vectors.md). *Errors*: shapes that do not fit; "
        "`determinant` and `inverse` beyond 4 x 4.",
        None,
        {
            "dot": ("Σ aᵢ bᵢ", "mt.Vector([1, 2]).dot(mt.Vector([3, 4]))"),
            "cross": ("a x b", "mt.Vector([1, 0, 0]).cross(mt.Vector([0, 1, 0]))"),
            "outer_product": ("aᵢ bⱼ", "mt.Vector([1, 2]).outer_product(mt.Vector([3, 4]))"),
            "norm": ("√(Σ vᵢ² + eps)", "mt.Vector([3.0, 4.0]).norm()"),
            "norm_sqr": ("Σ vᵢ²", "mt.Vector([3.0, 4.0]).norm_sqr()"),
            "norm_inv": ("1 / √(Σ vᵢ² + eps)", "mt.Vector([3.0, 4.0]).norm_inv()"),
            "normalized": ("v / (\\|v\\| + eps)", "mt.Vector([0.0, 4.0]).normalized()"),
            "transpose": ("mⱼᵢ", "mt.Matrix([[1, 2], [3, 4]]).transpose()"),
            "trace": ("Σ mᵢᵢ", "mt.Matrix([[1, 2], [3, 4]]).trace()"),
            "determinant": ("det m", "mt.Matrix([[1.0, 2.0], [3.0, 4.0]]).determinant()"),
            "inverse": ("m⁻¹", "mt.Matrix([[2.0, 0.0], [0.0, 4.0]]).inverse()"),
            "sum": ("Σ vᵢ", "mt.Vector([1, 2, 3]).sum()"),
            "min": ("the least component", "mt.Vector([3, 1, 2]).min()"),
            "max": ("the greatest component", "mt.Vector([3, 1, 2]).max()"),
            "any": ("is one not 0?", "(mt.Vector([1, 2]) > 1).any()"),
            "all": ("is none 0?", "(mt.Vector([1, 2]) > 1).all()"),
            "cast": ("each component", "mt.Vector([1.5, 2.5]).cast(mt.i32)"),
            "fill": ("vᵢ = x", "v = mt.Vector([1, 2]); v.fill(7); v"),
            "get_shape": ("", "mt.Matrix([[1, 2, 3], [4, 5, 6]]).get_shape()"),
            "to_list": ("", "mt.Vector([1, 2]).to_list()[1]"),
        },
    ),
    Group(
        "Atomics",
        "A *place* is an element, a component, a member or a variable. `x[i] += v` is `atomic_add`. *Types*: the "
        "place's; `and`, `or`, `xor` of integers. "
        "*Errors*: something that is no place; bit operations on floats.",
        mt,
        {
            "atomic_add": ("p + x", "a = 3; old = mt.atomic_add(a, 2); (old, a)"),
            "atomic_sub": ("p - x", "a = 3; old = mt.atomic_sub(a, 2); (old, a)"),
            "atomic_mul": ("p · x", "a = 3; old = mt.atomic_mul(a, 2); (old, a)"),
            "atomic_min": ("min(p, x)", "a = 3; old = mt.atomic_min(a, 2); (old, a)"),
            "atomic_max": ("max(p, x)", "a = 3; old = mt.atomic_max(a, 2); (old, a)"),
            "atomic_and": ("p & x", "a = 3; old = mt.atomic_and(a, 2); (old, a)"),
            "atomic_or": ("p \\| x", "a = 3; old = mt.atomic_or(a, 4); (old, a)"),
            "atomic_xor": ("p ^ x", "a = 3; old = mt.atomic_xor(a, 2); (old, a)"),
            "atomic_exchange": ("x", "a = 3; old = mt.atomic_exchange(a, 2); (old, a)"),
            "atomic_compare_exchange": (
                "x if p is e, else p",
                "a = 3; b = mt.atomic_compare_exchange(a, 4, 5); c = mt.atomic_compare_exchange(a, 3, 5); (b, c, a)",
            ),
        },
    ),
    Group(
        "Loops and compiling",
        "*Errors*: what is to be known while compiling and is not; `ndrange` and `grouped` elsewhere than behind `in`.",
        mt,
        {
            "ndrange": ("[a, b) x ...", "!for i, j in mt.ndrange(4, (1, 3)): ..."),
            "grouped": ("I = (i, j, ...)", "!for I in mt.grouped(x): x[I] = I.sum()"),
            "static": ("", "s = 0\nfor k in mt.static(range(3)):\n    s += k; s"),
            "static_assert": ("", "!mt.static_assert(n % 8 == 0, 'n')"),
            "static_print": ("", "!mt.static_print(n)"),
            "loop_config": ("", "!mt.loop_config(serialize=True)"),
            "block_local": ("", "!mt.block_local(x)"),
            "cache_read_only": ("", "!mt.cache_read_only(x)"),
            "assume_in_range": ("x", "mt.assume_in_range(5, 4, 0, 2)"),
        },
    ),
    Group(
        "Cells of sparse trees",
        "Of a field, a member, a level or a tree; indices are those of what is named ([sparse trees](../sparse.md)). "
        "Here `cells` is a field of blocks of four, `lists` has two lists. "
        "*Errors*: indices of another number; `append` and `length` of what is no list; in debug mode indices outside "
        "(`IndexError`).",
        mt,
        {
            "activate": ("", "mt.activate(cells, [5]); mt.is_active(cells, [5])"),
            "is_active": ("", "mt.is_active(cells, [5]), mt.is_active(cells, [9])"),
            "deactivate": ("", "!mt.deactivate(blocks, [1])"),
            "append": ("", "mt.append(lists, [0], 7)"),
            "length": ("", "mt.length(lists, [0])"),
            "used": ("", "!mt.used(blocks)"),
            "rescale_index": ("⌊i · n / m⌋", "mt.rescale_index(cells, blocks, mt.Vector([9]))"),
            "no_activate": ("", "!mt.no_activate(cells)"),
        },
    ),
    Group(
        "Derivatives",
        "*Types*: any, to its own type; of a field or an array nothing is given ([gradients](../gradients.md)).",
        mt,
        {
            "stop_grad": ("x, whose derivative is 0", "mt.stop_grad(2.5)"),
        },
    ),
    Group(
        "mt.math: graphics",
        "*Types*: floats; vectors where the description has one. Elementwise as far as that makes sense. *Errors*: "
        "shapes that do not fit. Types: vec2 to vec4, ivec, uvec, mat2 to mat4.",
        mt.math,
        {
            "mix": ("x (1 - a) + y a", "mt.math.mix(0.0, 10.0, 0.25)"),
            "clamp": ("min(max(x, low), high)", "mt.math.clamp(7, 0, 5)"),
            "step": ("0 or 1", "mt.math.step(0.5, 0.7)"),
            "smoothstep": ("t² (3 - 2t), t = (x - low) / (high - low)", "mt.math.smoothstep(0.0, 1.0, 0.25)"),
            "mod": ("x - y ⌊x / y⌋", "mt.math.mod(-1.0, 3.0)"),
            "radians": ("π x / 180", "mt.math.radians(180.0)"),
            "degrees": ("180 x / π", "mt.math.degrees(mt.math.pi)"),
            "length": ("√(Σ vᵢ²)", "mt.math.length(mt.math.vec2(3, 4))"),
            "distance": ("\\|p - q\\|", "mt.math.distance(mt.math.vec2(0, 0), mt.math.vec2(3, 4))"),
            "normalize": ("v / \\|v\\|", "mt.math.normalize(mt.math.vec2(0, 4))"),
            "dot": ("Σ aᵢ bᵢ", "mt.math.dot(mt.math.vec2(1, 2), mt.math.vec2(3, 4))"),
            "cross": ("a x b", "mt.math.cross(mt.math.vec3(1, 0, 0), mt.math.vec3(0, 1, 0))"),
            "reflect": ("v - 2 (n · v) n", "mt.math.reflect(mt.math.vec2(1, -1), mt.math.vec2(0, 1))"),
            "refract": ("Snell's law", "mt.math.refract(mt.math.vec2(0, -1), mt.math.vec2(0, 1), 1.0)"),
            "vdir": ("(cos φ, sin φ)", "mt.math.vdir(0.0)"),
            "transpose": ("mⱼᵢ", "mt.math.transpose(mt.Matrix([[1, 2], [3, 4]]))"),
            "determinant": ("det m", "mt.math.determinant(mt.Matrix([[1.0, 2.0], [3.0, 4.0]]))"),
            "inverse": ("m⁻¹", "mt.math.inverse(mt.Matrix([[2.0, 0.0], [0.0, 4.0]]))"),
            "eye": ("δᵢⱼ", "mt.math.eye(2)"),
            "rotation2d": ("", "mt.math.rotation2d(0.0)"),
            "translate": ("", "mt.math.translate(1.0, 2.0, 3.0)[:, 3]"),
            "scale": ("", "mt.math.scale(1.0, 2.0, 3.0)[1, 1]"),
            "rotation3d": ("", "mt.math.rotation3d(0.0, 0.0, 0.0)[0, 0]"),
            "rot_by_axis": ("", "mt.math.rot_by_axis(mt.math.vec3(0, 0, 1), 0.0)[0, 0]"),
            "rot_yaw_pitch_roll": ("", "mt.math.rot_yaw_pitch_roll(0.0, 0.0, 0.0)[0, 0]"),
        },
    ),
    Group(
        "mt.math: complex numbers",
        "Vectors of two: real and imaginary part. *Types*: floats. *Errors*: other shapes.",
        mt.math,
        {
            "cmul": ("a b", "mt.math.cmul(mt.math.vec2(0, 1), mt.math.vec2(0, 1))"),
            "cdiv": ("a / b", "mt.math.cdiv(mt.math.vec2(1, 0), mt.math.vec2(0, 1))"),
            "cinv": ("1 / z", "mt.math.cinv(mt.math.vec2(0, 2))"),
            "cconj": ("z̄", "mt.math.cconj(mt.math.vec2(1, 2))"),
            "csqrt": ("√z", "mt.math.csqrt(mt.math.vec2(4, 0))"),
            "cexp": ("eᶻ", "mt.math.cexp(mt.math.vec2(0, 0))"),
            "clog": ("ln z", "mt.math.clog(mt.math.vec2(1, 0))"),
            "cpow": ("zⁿ", "mt.math.cpow(mt.math.vec2(2, 0), 2.0)"),
        },
    ),
)
# What methods have no docstring of their own for.
METHODS = {
    "determinant": "determinant(): of a square matrix, up to 4 x 4.",
    "inverse": "inverse(): of a square matrix, up to 4 x 4; infinities or NaN of a singular one.",
    "norm": "norm(eps=0): the Euclidean length.",
    "norm_inv": "norm_inv(eps=0): one over the length.",
    "normalized": "normalized(eps=0): the vector of length 1.",
    "sum": "sum(): all components added.",
    "min": "min(): the least component.",
    "max": "max(): the greatest component.",
    "any": "any(): whether a component is not 0, as u1.",
    "all": "all(): whether no component is 0, as u1.",
    "cast": "cast(dtype): the components converted.",
    "fill": "fill(x): gives every component the value.",
    "get_shape": "get_shape(): the extents, known while compiling.",
    "to_list": "to_list(): the components as a list.",
}
