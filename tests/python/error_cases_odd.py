"""Odd kernels, most of them found by fuzzing, with the errors they must get; as error_cases.py."""

CASES = {
    "an array from outside": (
        """
        def k(x: X):
            x[0] = BIG[0, x[0] > 1]
            #      ^~~
        """,
        "TypeError_",
        "expected a value, got an object of type 'ndarray'",
        "pass it to the kernel as an argument",
    ),
    "float range": (
        """
        def k(x: X):
            for i in range(x[0]):
        #   ^~~~~~~~~~~~~~~~~~~~~
                pass
        """,
        "TypeError_",
        "range: expected integers, got f32",
        "cast the bound: ti.i32(...)",
    ),
    "keyword of range": (
        """
        def k(x: X):
            for i in range(6, step=2):
            #                      ^
                pass
        """,
        "TypeError_",
        "range has no parameter 'step'",
        None,
    ),
    "NumPy's function": (
        """
        def k(x: X):
            x[0] = np.sin(x[1])
            #      ^~~~~~
        """,
        "TypeError_",
        "'sin' cannot be called in a kernel",
        "NumPy's functions run in Python only: ti.sin(...) where there is one",
    ),
    "nested too deeply": (
        """
        def k(x: X):
            x[0] = MINUSES
        #   ^~~~~~~~~~~~~~
        """.replace("MINUSES", "-" * 900 + "1.0").replace("^" + "~" * 13, "^" + "~" * 909),
        "SyntaxError_",
        "nested too deeply to be compiled",
        "make several statements of the expression, or a @func of the inner branches",
    ),
    "half of a surrogate pair": (
        r"""
        def k(x: X):
            assert x[0] > 1, "\ud800"
            #                ^~~~~~~~
        """,
        "TypeError_",
        "expected text that UTF-8 can spell, got '\\ud800'",
        None,
    ),
    "static assert's message": (
        """
        def k(x: X):
            ti.static_assert(1 == 2, x)
            #                        ^
        """,
        "TypeError_",
        "static_assert: expected a text known while compiling, got array 'x' of 1 dimensions",
        None,
    ),
    "length of no dimension": (
        """
        def k(x: ti.types.ndarray(dtype=ti.f32, ndim=0)):
            x[None] = len(x)
            #         ^~~~~~
        """,
        "TypeError_",
        "len: expected at least one dimension, got array 'x' of 0 dimensions",
        None,
    ),
    "infinity as an integer": (
        """
        def k(x: X):
            x[0] = int(1e309)
            #      ^~~~~~~~~~
        """,
        "TypeError_",
        "cast to i32: expected a finite number, got inf",
        None,
    ),
}
