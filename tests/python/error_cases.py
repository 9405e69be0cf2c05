"""Wrong kernels with the errors they must get: the table of test_frontend_errors.py."""

# Each case: a kernel, what the message must say, and the hint. `~` marks the place: the column of the caret stands
# under it in the line after the wrong one.
CASES = {
    "unknown name": (
        """
        def k(x: X):
            for i in range(4):
                x[i] = squrt(2.0)
                #      ^~~~~
        """,
        "NameError_",
        "name 'squrt' is not defined",
        "did you mean 'ti.sqrt'?",
    ),
    "misspelled local": (
        """
        def k(x: X):
            length = 2.0
            x[0] = lenght
            #      ^~~~~~
        """,
        "NameError_",
        "name 'lenght' is not defined",
        "did you mean 'length'?",
    ),
    "misspelled function": (
        """
        def k(x: X):
            x[0] = ti.sqr(2.0)
            #         ^~~
        """,
        "NameError_",
        "module 'metate' has no attribute 'sqr'",
        "did you mean 'sqrt'?",
    ),
    "unknown member": (
        """
        def k(f: Tree):
            for i, j in f:
                f[i, j].c = 1.0
                #       ^
        """,
        "NameError_",
        "a cell of tree 'f' has no attribute 'c'; it has a, b",
        None,
    ),
    "unknown member or level": (
        """
        def k(f: Tree):
            for i, j in f.pointr0:
                #         ^~~~~~~
                pass
        """,
        "NameError_",
        "tree 'f' has no attribute 'pointr0'; it has a, b, pointer0, dense1",
        "did you mean 'pointer0'?",
    ),
    "unknown component": (
        """
        def k(f: Tree):
            f[0, 0].b.w = 1.0
            #         ^
        """,
        "NameError_",
        "a value of type vector(3, f32) has no component 'w'",
        "its components are x, y, z",
    ),
    "unknown method": (
        """
        def k(f: Tree, x: X):
            x[0] = f.b[0, 0].nrom()
            #                ^~~~
        """,
        "NameError_",
        "a value of type vector(3, f32) has no attribute 'nrom'; its components are x, y, z",
        "did you mean 'norm'?",
    ),
    "too few tree indices": (
        """
        def k(f: Tree):
            f.a[0] = 1.0
        #   ^~~~~~
        """,
        "TypeError_",
        "wrong number of indices: expected 2 coordinates for 'a', got 1",
        None,
    ),
    "too many array indices": (
        """
        def k(x: X):
            x[0, 1] = 2.0
        #   ^~~~~~~
        """,
        "TypeError_",
        "wrong number of indices: expected 1 index for this array, got 2",
        None,
    ),
    "float index": (
        """
        def k(x: X):
            x[1.5] = 2.0
        #   ^~~~~~
        """,
        "TypeError_",
        "index: expected an integer or a vector of integers, got f32",
        "cast it: ti.cast(x, ti.i32)",
    ),
    "missing annotation": (
        """
        def k(x: X, n):
        #           ^
            x[0] = n
        """,
        "TypeError_",
        "parameter 'n' has no annotation: expected a type",
        "write n: ti.f32, n: ti.types.ndarray(), n: ti.template() or a tree type",
    ),
    "wrong annotation": (
        """
        def k(x: 3):
        #        ^
            pass
        """,
        "TypeError_",
        "parameter 'x': expected a scalar, vector, matrix, ndarray or tree type or template(), got 3",
        None,
    ),
    "shapes that do not fit": (
        """
        def k(f: Tree):
            f[0, 0].b = ti.Vector([1.0, 2.0]) + f[0, 0].b
            #           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "operands of '+': expected equal shapes, got vector(2, f32) and vector(3, f32)",
        None,
    ),
    "vector into a scalar": (
        """
        def k(f: Tree):
            f[0, 0].a = f[0, 0].b
        #   ^~~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "f[0, 0].a: expected f32, got vector(3, f32)",
        None,
    ),
    "another type in a variable": (
        """
        def k(x: X):
            v = 1.0
            v = vec3(0)
            #   ^~~~~~~
        """,
        "TypeError_",
        "variable 'v': expected a value of type f32, set by its first assignment, got vector(3, f32)",
        "use another name for it",
    ),
    "assigned in one branch": (
        """
        def k(x: X):
            if x[0] > 0:
                y = 1.0
            x[1] = y
            #      ^
        """,
        "NameError_",
        "'y' may have no value here: it is assigned in one branch of an if only",
        "assign it before",
    ),
    "different types in branches": (
        """
        def k(x: X):
            if x[0] > 0:
                y = 1.0
            else:
                y = 1
            x[1] = y
            #      ^
        """,
        "NameError_",
        "'y' may have no value here: the branches of an if give it different types, f32 and i32",
        "assign it before",
    ),
    "assigned in a loop": (
        """
        def k(x: X):
            for i in range(3):
                y = 1.0
            x[1] = y
            #      ^
        """,
        "NameError_",
        "'y' may have no value here: it is assigned inside a loop, which may run no iteration",
        "assign it before",
    ),
    "a whole cell": (
        """
        def k(f: Tree, x: X):
            x[0] = f[0, 0] + 1
            #      ^~~~~~~
        """,
        "TypeError_",
        "expected one member of the cell of 'f', got the whole cell",
        "take one of its members: .a, .b",
    ),
    "a tree as a value": (
        """
        def k(f: Tree, x: X):
            x[0] = f
            #      ^
        """,
        "TypeError_",
        "expected a value, got tree 'f'",
        "take a member of a cell: f[i, j].a",
    ),
    "different active sets": (
        """
        def k(f: Split):
            for I in ti.grouped(f):
                #               ^
                pass
        """,
        "TypeError_",
        "the members of tree 'f' have different active sets: expected one, got those of 'a' and 'b'",
        "loop over one of them: f.a",
    ),
    "inner loop over a tree": (
        """
        def k(f: Tree):
            for n in range(3):
                for i, j in f:
        #       ^~~~~~~~~~~~~~
                    pass
        """,
        "SyntaxError_",
        "a loop over member 'a' of tree 'f' must be the outermost one",
        "loop over ranges of its cells inside",
    ),
    "too few loop variables": (
        """
        def k(f: Tree):
            for i in f:
            #   ^
                pass
        """,
        "TypeError_",
        "expected 2 loop variables, got 1",
        "write for i, j in ..., or for I in ti.grouped(...)",
    ),
    "loop over a tuple": (
        """
        def k(x: X):
            for i in (1, 2):
            #        ^~~~~~
                x[i] = 0.0
        """,
        "TypeError_",
        "expected a range, a tree or an array to loop over, got a tuple of 2",
        "unroll it: ti.static((1, 2))",
    ),
    "break of a parallel loop": (
        """
        def k(x: X):
            for i in range(3):
                if x[i] > 0:
                    break
        #           ^~~~~
        """,
        "SyntaxError_",
        "break in a parallel loop",
        "iterations of the outermost loop are unordered: use ti.loop_config(serialize=True) before it, or while",
    ),
    "return inside a loop": (
        """
        def k(x: X) -> ti.f32:
            for i in range(3):
                return x[i]
        #       ^~~~~~~~~~~
            return 0.0
        """,
        "SyntaxError_",
        "return from a kernel inside a loop or a branch",
        "assign the result to a variable and return it at the end",
    ),
    "return without annotation": (
        """
        def k(x: X):
            return x[0]
        #   ^~~~~~~~~~~
        """,
        "TypeError_",
        "a kernel that returns a value needs a return annotation",
        "def k(...) -> ti.f32:",
    ),
    "annotation without return": (
        """
        def k(x: X) -> ti.f32:
        #              ^~~~~~
            x[0] = 1.0
        """,
        "SyntaxError_",
        "expected a return statement at the kernel's end, as its annotation says",
        None,
    ),
    "read-only argument": (
        """
        def k(x: X, n: ti.i32):
            n = n + 1
        #   ^
        """,
        "TypeError_",
        "kernel argument 'n' is read-only",
        "assign it to a variable of another name first: n_ = n",
    ),
    "outer variable in a parallel loop": (
        """
        def k(x: X):
            last = 0.0
            for i in range(3):
                last = x[i]
        #       ^~~~
            x[0] = last
        """,
        "TypeError_",
        "variable 'last': made outside the parallel loop that assigns it",
        "accumulate in an array or a tree, or return it from the kernel",
    ),
    "a generator of Python": (
        """
        def k(x: X):
            x[0] = plain(x[1])
            #      ^~~~~
        """,
        "TypeError_",
        "'plain' cannot be called in a kernel",
        "compute it before: ti.static(plain(...))",
    ),
    "wrong number of arguments": (
        """
        def k(x: X):
            x[0] = twice(1.0, 2.0)
            #      ^~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "'twice': too many positional arguments",
        "it is defined as twice(x)",
    ),
    "wrong number of arguments of a built-in": (
        """
        def k(x: X):
            x[0] = ti.sqrt(1.0, 2.0)
            #      ^~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "ti.sqrt: expected 1 argument, got 2",
        None,
    ),
    "recursion": (
        """
        def k(x: X):
            x[0] = again(1.0)
        """,
        "SyntaxError_",
        "'again' calls itself: a @func is inlined and cannot be recursive",
        None,
    ),
    "no statement of kernels": (
        """
        def k(x: X):
            import math
        #   ^~~~~~~~~~~
        """,
        "SyntaxError_",
        "kernels have no import statement",
        None,
    ),
    "no expression of kernels": (
        """
        def k(x: X):
            x[0] = (yield 1)
            #       ^~~~~~~
        """,
        "SyntaxError_",
        "kernels have no yield",
        None,
    ),
    "slice": (
        """
        def k(x: X):
            x[1:2] = 0.0
            # ^~~
        """,
        "SyntaxError_",
        "kernels have no slices",
        "loop over the elements",
    ),
    "format of a float": (
        """
        def k(x: X):
            print(f"{x[0]:5d} of {x[1]:.3f}")
        #                 ^~
        """,
        "TypeError_",
        "format '5d' of a float: expected one of a A e E f F g G %, got 'd'",
        None,
    ),
    "format of an integer": (
        """
        def k(x: X, n: ti.i32):
            assert x[0] > 0, f"{n!r:.3a}"
        #                           ^~~
        """,
        "TypeError_",
        "format '.3a' of an integer: expected one of b d i o x X e E f F g G %, got 'a'",
        None,
    ),
    "format without digits": (
        """
        def k(x: X):
            print(f"{ x[0] :8.f}")
        #                   ^~~
        """,
        "TypeError_",
        "format '8.f' of a float: expected digits after '.'",
        None,
    ),
    "format too wide": (
        """
        def k(x: X):
            print(f"{x[0]:1001}")
        #                 ^~~~
        """,
        "TypeError_",
        "format '1001' of a float: expected a width of at most 1000",
        None,
    ),
    "format of a tuple": (
        """
        def k(x: X):
            print(f"{(x[0], 1):.2f}")
        #            ^~~~~~~~~
        """,
        "TypeError_",
        "format '.2f': expected a number, vector, matrix or static text, got a tuple of 2",
        None,
    ),
    "width at run time": (
        """
        def k(x: X, n: ti.i32):
            print(f"{x[0]:{n}.2f}")
        #                  ^
        """,
        "TypeError_",
        "expected a number or text known while compiling in a format, got a value of type i32",
        None,
    ),
    "too few values": (
        """
        def k(x: X, n: ti.i32):
            print("%d %d" % n)
        #         ^~~~~~~~~~~
        """,
        "TypeError_",
        "not enough values for the text's % conversions",
        None,
    ),
    "format without argument": (
        """
        def k(x: X):
            print("{} {}".format(x[0]))
        #         ^~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "format: expected an argument for '{}', got none",
        None,
    ),
    "assert of many values": (
        """
        def k(x: X):
            assert x[0] > 0, f"{ti.Matrix([[0] * 4] * 4)} {ti.Matrix([[0] * 3] * 3)}"
        #   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "assert: expected at most 24 scalars in its message, got 25",
        "show fewer components",
    ),
    "randn of integers": (
        """
        def k(x: X):
            x[0] = ti.randn(ti.i32)
        #          ^~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "randn: expected a float type, got i32",
        None,
    ),
    "random of a vector": (
        """
        def k(x: X):
            x[0] = ti.random(vec3)
        #                    ^~~~
        """,
        "TypeError_",
        "expected a scalar type such as ti.f32, got an object of type 'VectorType'",
        None,
    ),
    "literal out of range": (
        """
        def k(x: X):
            a = x.shape[0] + 2 ** 32 - 3
            #                ^~~~~~~
        """,
        "TypeError_",
        "literal out of range of i32: expected -2147483648 to 2147483647, got 4294967296",
        "give it a type of its own, ti.i64(...), or set default_ip",
    ),
    "result out of range": (
        """
        def k(x: X):
            a = 100000 * 100000
            #   ^~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "literal out of range of i32: expected -2147483648 to 2147483647, got 10000000000",
        "give it a type of its own, ti.i64(...), or set default_ip",
    ),
    "number out of range": (
        """
        def k(x: X):
            a = ti.i8(300)
            #   ^~~~~~~~~~
        """,
        "TypeError_",
        "number out of range of i8: expected -128 to 255, got 300",
        "use a wider type: i64",
    ),
    "number of no type": (
        """
        def k(x: X):
            a = 10 ** 30
            #   ^~~~~~~~
        """,
        "TypeError_",
        "literal out of range of i32: expected -2147483648 to 2147483647, got 1000000000000000000000000000000",
        "no integer type holds it: write it as a float",
    ),
    "number too large to compute": (
        """
        def k(x: X):
            x[0] = 1 << 3 + 4294967296
            #      ^~~~~~~~~~~~~~~~~~~
        """,
        "TypeError_",
        "expected an integer of at most 4096 bits, got one of about 4294967300",
        "compute it in floating point",
    ),
    "division of constants by zero": (
        """
        def k(x: X):
            x[0] = 1 // 0
            #      ^~~~~~
        """,
        "TypeError_",
        "operator '//' of constants: expected a divisor other than zero, got 0",
        None,
    ),
    "bits of a float": (
        """
        def k(x: X):
            x[0] = x[0] & 3
            #      ^~~~~~~~
        """,
        "TypeError_",
        "operator '&': expected integers, got f32",
        "cast to an integer type, or use ti.bit_cast to work on the bits",
    ),
}
