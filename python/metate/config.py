"""`mt.cfg`: the options of the default context, by Taichi's names; `mt.lang.impl.current_cfg()` gives it as well."""

from __future__ import annotations

from . import context as _context
from .errors import RuntimeTypeError_


class Config:
    """Options in force, to be read: ``mt.cfg.default_fp``. The innermost `with` of a context has them, else `mt.init`.

    `arch` is what kernels run on: `mt.cpu`, the name of a CPU, `mt.cuda`, `mt.interp`, ...; `cpu_max_num_threads` is None where
    nothing was said. Other names are those of `mt.Context`. Raises AttributeError for a name that is no option;
    RuntimeTypeError_ when one is set, since options never change: `mt.init` takes them.
    """

    __slots__ = ()

    def __getattr__(self, name):
        options = _context.current().options
        if name == "arch":
            return options.cpu if options.arch == "cpu" else options.arch
        if name == "cpu_max_num_threads":
            return options.threads
        if name.startswith("_") or name not in _context.option_names():
            raise AttributeError(f"cfg: no option {name!r}; there are {', '.join(_context.option_names())}")
        return getattr(options, name)

    def __setattr__(self, name, value):
        raise RuntimeTypeError_(
            f"cfg.{name}: options never change; mt.init({name}={value!r}) or mt.Context({name}=...) takes them"
        )

    def __repr__(self):
        return f"cfg({', '.join(f'{name}={getattr(self, name)!r}' for name in _context.option_names())})"


cfg = Config()


def current_cfg() -> Config:
    """`mt.cfg`."""
    return cfg
