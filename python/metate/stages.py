"""The stages of the compiler one after the other, and their dumps by name.

A dump is called after its stage; where a module is one target's (after layout and map), `<stage>.<target>`. Used by
`Kernel.stages` and by the command `metate stages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metate_native import _compiler


class Dumps(dict):
    """Dumps by name, in the order of the stages. A stage's name finds the dump of the only target."""

    def __missing__(self, stage):
        found = [name for name in self if name.partition(".")[0] == stage]
        if len(found) == 1:
            return self[found[0]]
        if found:
            raise KeyError(f"{stage}: there is one a target: {', '.join(found)}")
        raise KeyError(stage)


def dumps_of(text: str, choices: _compiler.Choices, *, start: str = "import", stop_after: str = "emit") -> Dumps:
    """The dumps of all stages from `start` on.

    Args:
        text: the dump of `start`; after layout and map it is one target's, and so must `choices` be.
        choices: targets and options.
        stop_after: the last stage; pack leaves bytes.
    Raises _compiler.CompileError.
    """
    from metate_native import _compiler

    names, per_target = _compiler.stage_names(), _compiler.per_target_stage_names()
    targets, dumps = choices.targets, Dumps()
    shared, stage = text, start  # what several targets have in common, and the stage that it has left
    if start in per_target:
        dumps[f"{start}.{targets[0]}"] = text
    else:
        dumps[start] = text
    for name in names[names.index(start) + 1 : names.index(stop_after) + 1]:
        if name not in per_target:
            shared, stage = _compiler.run_stages(shared, stage, name, choices), name
            dumps[name] = shared
            continue
        for target in targets:
            before = names[names.index(name) - 1]
            own = dumps.get(f"{before}.{target}")
            choices.targets = [target]
            try:
                dumps[f"{name}.{target}"] = (
                    _compiler.run_stages(shared, stage, name, choices)
                    if own is None
                    else _compiler.run_stages(own, before, name, choices)
                )
            finally:
                choices.targets = targets
    return dumps
