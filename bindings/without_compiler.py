"""The extensions of an installation that has no compiler: it loads modules and runs them."""


def __getattr__(name):
    if name == "_compiler":
        raise ImportError(
            "this installation of Metate has no compiler: it loads modules (mt.aot.load) that `metate build` makes elsewhere; "
            "pip install it without METATE_COMPILER=OFF to compile kernels"
        )
    raise AttributeError(f"module 'metate_native' has no attribute {name!r}")
