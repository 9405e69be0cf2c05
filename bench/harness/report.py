"""What a run says: a table in the terminal, JSON of each row, Markdown for bench/results and README. Measures nothing."""

import json
import pathlib
import re

from .side import LIBRARIES

BENCH = pathlib.Path(__file__).resolve().parents[1]
RESULTS = BENCH / "results"
README = BENCH.parent / "README.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
PEERS = ("taichi", "quadrants", "hand", "openvdb")
COLUMNS = ("workload", "metate", "of limit", *PEERS)
LINE = "  {:<64} {:>11} {:>8}  {:>18} {:>18} {:>18} {:>18}"


def time_text(seconds):
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def rate_text(row, side):
    """The figure that stands for a side: time a unit of work, or of a step where the work is one; or bytes."""
    if "bytes" in side:
        return f"{side['bytes'] / row['work']:.3g} B"
    if row["work"] == 1:
        return time_text(side["seconds"]["median"])
    return f"{side['ns_per_work']:.3g} ns"


def side_text(row, name):
    """A cell of the table: the peer's figure and how many times Metate's speed is of it; or why there is none."""
    side = row["sides"].get(name)
    if side is None or "absent" in side:
        return "-"
    if "failed" in side:
        return "failed"
    if "mismatch" in side:
        return "WRONG RESULT"
    text = rate_text(row, side)
    ratio = row.get("ratio", {}).get(name)
    return text if ratio is None or name == "metate" else f"{text} ({ratio:.2f}x)" if ratio < 10 else f"{text} ({ratio:.0f}x)"


def cells(row, peers=PEERS):
    name = row["case"] + (f", {row['level']}" if row.get("level") else "")
    if row["work"] != 1:
        name += f" (per {row['unit']})"
    share = row["sides"].get("metate", {}).get("share_of_limit")
    return [name, side_text(row, "metate"), f"{share:.2f}" if share else "", *(side_text(row, peer) for peer in peers)]


def print_row(row):
    """The row's line, and below it what a table has no room for."""
    print(LINE.format(*cells(row)), flush=True)
    for name, side in row["sides"].items():
        if name in LIBRARIES and "seconds" in side:
            print(f"      {name}: {side_text(row, name)}", flush=True)
        for kind in ("failed", "mismatch"):
            if kind in side:
                print(f"      {name}: {kind}: {side[kind].splitlines()[0] if side[kind] else ''}", flush=True)


def print_details(row):
    for name, side in row["sides"].items():
        if "seconds" in side:
            s = side["seconds"]
            extra = f", {side['G/s']:.1f} G/s" if "G/s" in side else ""
            extra += f", {side['work_per_s']:.3g} {row['unit'] or 'time'}(s)/s" if "work_per_s" in side else ""
            what = f" [{side['is']}]" if "is" in side else ""
            print(
                f"      {name:<12} {time_text(s['median']):>9} (min {time_text(s['min'])}, p90 {time_text(s['p90'])}, "
                f"kernel {time_text(side.get('kernel_s', s['median']))}){extra}{what}",
                flush=True,
            )


def print_notes(rows):
    for note in notes_of(rows):
        print(f"  {note}", flush=True)


def notes_of(rows):
    return list(dict.fromkeys(row["note"] for row in rows if row.get("note")))


def print_header():
    print(LINE.format(*COLUMNS), flush=True)


def folder(arch):
    """Where saved rows of that arch are."""
    return RESULTS if arch == "cpu" else RESULTS / arch


def save(workload, title, machine, rows, arch="cpu"):
    folder(arch).mkdir(parents=True, exist_ok=True)
    result = {"workload": workload, "title": title, "machine": machine, "rows": rows}
    (folder(arch) / f"{workload}.json").write_text(json.dumps(result, indent=1) + "\n")


def saved(arch="cpu"):
    """The saved results in the order of their ids: B2 before B10."""
    results = [json.loads(path.read_text()) for path in folder(arch).glob("*.json")]
    return sorted(results, key=lambda r: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", r["workload"])])


def markdown_table(rows):
    """A table of the rows; OpenVDB and other libraries have a column where one of them has it as a peer."""
    named = lambda peer: any(peer in row["sides"] for row in rows)
    peers = [*PEERS[:3], *(peer for peer in (*PEERS[3:], *LIBRARIES) if named(peer))]
    columns = (*COLUMNS[:3], *peers)
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(cells(row, peers)) + " |" for row in rows]
    return "\n".join(lines)


LEGEND = (
    "Times are medians of at least nine samples taken in turns with every peer in one run, results compared first; in brackets "
    "how many times as fast Metate is (under 1: slower). *Hand* is the best of hand-written C++ (`bench/reference/`) built by "
    "g++ and clang, *openvdb* the best of programs in that library's terms; *of limit* is the share of the bandwidth "
    "or arithmetic that hand-written C++ reached in the same run."
)


def markdown(results):
    """The page bench/results/README.md: every saved result with the machine that gave it."""
    parts = ["# Results", "", LEGEND, ""]
    for result in results:
        machine = result["machine"]
        parts += [f"## {result['workload']}: {result['title']}", "", markdown_table(result["rows"]), ""]
        notes = notes_of(result["rows"])
        parts += [f"- {note}" for note in notes] + ([""] if notes else [])
        why = {f"{n}: {s['absent']}" for row in result["rows"] for n, s in row["sides"].items() if "absent" in s}
        why |= {f"{n}, {row['case']}: failed: {first_line(s['failed'])}" for row in result["rows"] for n, s in row["sides"].items() if "failed" in s}  # fmt: skip  # noqa: E501
        parts += [f"- {text}" for text in sorted(why)] + ([""] if why else [])
        parts += [f"Commit {machine['commit']}; {machine_text(machine)}.", ""]
    return "\n".join(parts)


def first_line(text):
    return text.strip().splitlines()[0] if text.strip() else ""


def machine_text(machine):
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    limits = machine["limits"]
    units = {"read": "GB/s", "copy": "GB/s", "fma": "GFLOP/s of f32"}
    measured = ", ".join(
        f"{'' if name == 'fma' else name + ' '}{limits[name]:.0f} {unit}" for name, unit in units.items() if name in limits
    )
    return f"{machine['model']}, {machine['cpus']} CPUs, {machine['caches']}; measured {measured}; {versions}"


def write_markdown(arch="cpu"):
    (folder(arch) / "README.md").write_text(markdown(saved(arch)))


def write_readme():
    """Puts the table of the rows that stand for their workload between the markers of README.md."""
    text = README.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"bench/run --readme: README.md has no {BEGIN} ... {END}")
    results = saved()
    if not results:
        raise SystemExit("bench/run --readme: bench/results has no results yet: run the workloads first")
    rows = [dict(row, case=f"{result['workload']} {row['case']}") for result in results for row in result["rows"] if shown(row)]
    machine = results[0]["machine"]
    table = f"{markdown_table(rows)}\n\n{LEGEND} {machine_text(machine)}. All rows: [bench/results](bench/results/README.md)."
    head, rest = text.split(BEGIN, 1)
    README.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END, 1)[1]}")


def shown(row):
    """Rows of README: those that have a peer to lose against, less variations of others."""
    return row["headline"] and any({"seconds", "bytes"} & row["sides"].get(peer, {}).keys() for peer in (*PEERS, *LIBRARIES))
