"""What a run of bench/cliffs says: of each spelling the ratio to the best peer and to our own best; three numbers of them all.

A peer's ratio is its time over Metate's, so under 1 Metate is slower; the own ratio is the spelling's time over that of
the fastest spelling of the same work. Measures nothing.
"""

import json
import math
import pathlib

from . import report
from .side import PACKAGES

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results" / "cliffs"
LEAST_PEER, MOST_OWN = 0.95, 2.0
LINE = "  {:<62} {:>10} {:>10} {:>10} {:>8} {:>8}"
COLUMNS = ("spelling", *PACKAGES, "/ peer", "/ own")


def figures(row):
    """What is kept of a row of harness/rows.py: nanoseconds an item and of the first step milliseconds, a side; ratios."""
    sides = row["sides"]
    timed = {name: side for name, side in sides.items() if "seconds" in side}
    found = {"spelling": row["case"], "family": row["level"], "repeated": row.get("repeated", False)}
    found["ns"] = {name: side["ns_per_work"] for name, side in timed.items()}
    found["spread"] = {name: side["seconds"]["p90"] / side["seconds"]["min"] for name, side in timed.items()}
    found["first_ms"] = {name: 1e3 * side["first_step_s"] for name, side in timed.items()}
    found["without"] = {
        name: report.first_line(side.get("absent") or side.get("failed") or f"another result: {side['mismatch']}")
        for name, side in sides.items()
        if "seconds" not in side
    }
    peers = [found["ns"][name] for name in PACKAGES[1:] if name in found["ns"]]
    found["peer"] = min(peers) / found["ns"]["metate"] if peers and "metate" in found["ns"] else None
    return found


def add_own(spellings):
    """Adds `own` to the figures of one workload's spellings."""
    best = {}
    for found in spellings:
        if "metate" in found["ns"]:
            best[found["family"]] = min(best.get(found["family"], math.inf), found["ns"]["metate"])
    for found in spellings:
        found["own"] = found["ns"]["metate"] / best[found["family"]] if "metate" in found["ns"] else None


def summary(workloads):
    """The numbers that goals are set for, as a dict; `workloads` is what `save` keeps."""
    spellings = [found for workload in workloads for found in workload["spellings"]]
    peers = [found["peer"] for found in spellings if found["peer"]]
    return {
        "workloads": len(workloads),
        "spellings": len(spellings),
        "below the best peer": sum(ratio < LEAST_PEER for ratio in peers),
        "over twice our own best": sum((found["own"] or 0) > MOST_OWN for found in spellings),
        "geometric mean": math.exp(sum(map(math.log, peers)) / len(peers)) if peers else None,
    }


def summary_text(found):
    mean = f"{found['geometric mean']:.2f}" if found["geometric mean"] else "no peer"
    return (
        f"{found['spellings']} spellings of {found['workloads']} workloads: {found['below the best peer']} below "
        f"{LEAST_PEER} of the best peer, {found['over twice our own best']} over {MOST_OWN:g} x our own best, "
        f"geometric mean over the better peer {mean}"
    )


def cells(found):
    name = found["spelling"] + (f" [{found['family']}]" if found["family"] else "")
    times = [f"{found['ns'][side]:.3g}" if side in found["ns"] else "-" for side in PACKAGES]
    ratios = [f"{found[key]:.2f}" if found[key] else "-" for key in ("peer", "own")]
    return [name, *times, *ratios]


def print_workload(workload):
    """One workload's table."""
    print(f"{workload['name']}: {workload['title']} (ns a {workload['unit']})")
    print(LINE.format(*COLUMNS))
    for found in workload["spellings"]:
        bad = (found["peer"] or 1) < LEAST_PEER or (found["own"] or 1) > MOST_OWN
        print(LINE.format(*cells(found)) + (" <" if bad else ""))
        for side, why in found["without"].items():
            print(f"      {side}: {why}")
    print(flush=True)


def worst(workloads, count):
    """[(shortfall, workload's name, figures)] of the spellings that miss a goal by most, the worst first."""
    missed = []
    for workload in workloads:
        for found in workload["spellings"]:
            short = max(LEAST_PEER / (found["peer"] or math.inf), (found["own"] or 0) / MOST_OWN)
            if short > 1:
                missed.append((short, workload["name"], found))
    return sorted(missed, key=lambda entry: -entry[0])[:count]


def markdown_rows(entries, first):
    lines = ["| " + " | ".join((*first, *COLUMNS)) + " |", "|---" * (len(first) + len(COLUMNS)) + "|"]
    return [*lines, *("| " + " | ".join(entry) + " |" for entry in entries)]


LEGEND = (
    "Nanoseconds an item, medians of samples taken in turns with the peers in one run, results compared with NumPy's first. "
    "*/ peer* is the better peer's time over Metate's (under 1: slower), */ own* the spelling's time over that of our fastest "
    "spelling of the same work; what stands in brackets is work of its own, such as the same in f64."
)


def markdown(result):
    """The page of a saved run: the numbers of them all, the worst, and every table."""
    machine, workloads = result["machine"], result["workloads"]
    parts = ["# Evenness", "", LEGEND, "", f"**{summary_text(result['summary'])}.**", "", "## Furthest from the goals", ""]
    parts += markdown_rows([[name, *cells(found)] for _, name, found in worst(workloads, 25)], ("workload",))
    for workload in workloads:
        parts += ["", f"## {workload['name']}: {workload['title']}, ns a {workload['unit']}", ""]
        parts += markdown_rows([cells(found) for found in workload["spellings"]], ())
        lines = [
            f"- {found['spelling']}, {side}: {why}" for found in workload["spellings"] for side, why in found["without"].items()
        ]
        parts += [""] * bool(lines) + lines
    note = f" {result['note']}." if result["note"] else ""
    return "\n".join([*parts, "", f"Commit {machine['commit']}; {report.machine_text(machine)}.{note}", ""])


def folder(arch):
    """Where a saved run of that arch is."""
    return RESULTS if arch == "cpu" else RESULTS / arch


def save(machine, workloads, note, folder):
    """Writes into the folder: JSON with a line a spelling, and the page."""
    result = {"note": note, "summary": summary(workloads), "machine": machine, "workloads": workloads}
    folder.mkdir(parents=True, exist_ok=True)
    parts = [f'"{key}": {json.dumps(result[key])}' for key in ("note", "summary", "machine")]
    blocks = []
    for workload in workloads:
        about = json.dumps({key: value for key, value in workload.items() if key != "spellings"})
        lines = ",\n  ".join(json.dumps(rounded(found)) for found in workload["spellings"])
        blocks.append(f'{about[:-1]}, "spellings": [\n  {lines}]}}')
    parts.append('"workloads": [\n ' + ",\n ".join(blocks) + "]")
    (folder / "results.json").write_text("{" + ",\n".join(parts) + "}\n")
    (folder / "README.md").write_text(markdown(result))


def rounded(value):
    """The value with floats of four digits, which is more than timings are good for."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value
