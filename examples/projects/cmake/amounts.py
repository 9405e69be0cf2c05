"""What the kernels share; a change of it compiles them again."""

ALPHA = 0.1  # how much of the difference to its neighbours a cell takes over in a step
