"""Kernels of another machine, called over a stream of bytes: a serial line, a socket, a pipe.

remote = mt.rpc.connect(stream)                      # any object with read and write
remote.kernels["axpy"](2.0, x, y)                    # NumPy arrays go there, those that are written come back
session = remote.session("classify")                 # by steps
session.set_input("image", picture)
session.run()
session.get_output("scores")

The other side is runtime/rpc, C for firmware and hosts; include/metate/rpc.h has the protocol. Nothing here needs the compiler
or the runtime.
"""

from .remote import Remote, RemoteArray, RemoteKernel, RemoteSession, RemoteTree, connect

__all__ = ["Remote", "RemoteArray", "RemoteKernel", "RemoteSession", "RemoteTree", "connect"]
