"""Kernels with values of wrong types, with the errors they must get; as error_cases.py."""

CASES = {
    "bit_cast of another width": (
        """
        def k(x: X):
            x[0] = ti.bit_cast(x[0], ti.i64)
            #      ^~~~~~~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "bit_cast: expected a type of 32 bits, as the value's f32 has, got i64 with 64",
        None,
    ),
    "vector as a condition": (
        """
        def k(f: Tree):
            if f[0, 0].b > 0:
            #  ^~~~~~~~~~~~~
                pass
        """,
        "TypeError_",
        "condition: expected a scalar condition, got vector(3, u1)",
        "reduce it first: .any() or .all()",
    ),
    "component out of range": (
        """
        def k(f: Tree):
            f[0, 0].b[3] = 1.0
        #   ^~~~~~~~~~~~
        """,
        "TypeError_",
        "index out of range: expected 0 to 2 for vector(3, f32), got 3",
        None,
    ),
    "product of vectors": (
        """
        def k(f: Tree):
            f[0, 0].a = f[0, 0].b @ ti.Vector([1, 2])
            #           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "dot: expected two vectors of one length, got vector(3, f32) and vector(2, i32)",
        None,
    ),
    "atomic on a value": (
        """
        def k(x: X):
            ti.atomic_add(x[0] + 1, 2.0)
            #             ^~~~~~~~
        """,
        "TypeError_",
        "atomic_add: expected a place such as x[i], f.a[i, j] or a variable, got a value of type f32",
        None,
    ),
    "static of a run-time value": (
        """
        def k(x: X):
            if ti.static(x[0] > 0):
            #            ^~~~~~~~
                pass
        """,
        "TypeError_",
        "static: expected what is known while compiling, got a value of type u1",
        None,
    ),
    "failed static assertion": (
        """
        def k(x: X):
            ti.static_assert(vec3.n == 4, "four components")
        #   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "static assertion failed: four components",
        None,
    ),
    "some paths return nothing": (
        """
        def k(x: X):
            x[0] = sometimes(x[1])
        """,
        "TypeError_",
        "'sometimes' returns a value on some paths and none on others",
        None,
    ),
    "another meaning under a condition": (
        """
        def k(f: Tree, g: Tree, x: X):
            h = f
            if x[0] > 0:
                h = g
        #       ^
        """,
        "TypeError_",
        "'h' stands for tree 'f' and cannot change under a condition or in a loop at run time",
        "use another name for it",
    ),
}
