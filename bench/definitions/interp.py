"""interp: simple operations a second in the reference interpreter, against the same kernel compiled."""

from harness import measure, rows

TITLE = "the reference interpreter"
TURNS = 100_000


def operations_in_loop(text):
    """Operations in the body of the one serial loop of a dump."""
    body = text[text.index("scf.for") :].split("\n")[1:]
    return next(k for k, line in enumerate(body) if line.strip().startswith("}"))


def measured(runner):
    import small_kernels

    import metate as mt

    operations = TURNS * operations_in_loop(small_kernels.mix.stages(stop_after="simplify")["simplify"])
    contexts = {"interpreted": mt.Context(arch=mt.interp, interp_stage="simplify"), "compiled": mt.Context()}

    def action(context):
        def run_in():
            with context:
                return small_kernels.mix(TURNS)

        return run_in

    actions = {name: action(context) for name, context in contexts.items()}
    assert len({run_in() for run_in in actions.values()}) == 1
    for name, taken in measure.interleaved(actions).items():
        yield rows.given(f"mix, {name}", {"metate": taken}, unit="operation", work=operations)
