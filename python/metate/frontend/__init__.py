"""The Python front end: walks the syntax tree of a kernel and calls the compiler's KernelBuilder."""
