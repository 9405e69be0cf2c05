"""`metate explain`: a program's kernels as a page, source beside IR beside assembly, with what passes did and declined."""
