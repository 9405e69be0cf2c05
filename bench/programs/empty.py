"""A kernel that does nothing, to know what a launch from Python costs each package."""

import ti


def make():
    @ti.kernel
    def empty():
        pass

    empty()
    return empty
