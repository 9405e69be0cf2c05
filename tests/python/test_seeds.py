"""A suite that passed passes again: tests draw the same numbers in every run. Long runs draw fresh ones and print them."""

import pathlib
import re

import pytest
import seeded

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRESH = re.compile(
    r"os\.urandom|SystemRandom|\bsecrets\.|uuid[14]\(|default_rng\(\)|random\.Random\(\)|\brandom\.seed\(|"
    r"np\.random\.(?!default_rng|Generator)\w+|std::random_device|(?:seed|Seed)\w*\s*[=({]\s*(?:int\()?(?:std::)?time\w*[.(:]|\bsrand\("
)
# Long runs, whose seeds are options and are printed. scripts/test gives them fixed ones.
LONG = {"tests/differential/fuzz.py": "--seed", "tests/mutants/run.py": "--seed"}


def sources():
    for folder in ("tests", "examples", "bench"):
        for path in sorted((ROOT / folder).rglob("*")):
            ours = path.name != "test_seeds.py" and ".peers" not in path.parts  # where bench/setup-peers puts other people's
            if ours and path.suffix in (".py", ".cpp", ".h", ".c"):
                yield path


def test_no_test_draws_fresh_numbers():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources()
        if str(path.relative_to(ROOT)) not in LONG
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if FRESH.search(line)
    ]
    assert not found, "draw from tests/python/seeded.py, the fixture rng or a fixed seed:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "seed = int.from_bytes(os.urandom(4))",
        "x = np.random.default_rng().integers(3)",
        "x = np.random.rand(3)",
        "uint32_t seed = std::random_device{}();",
        "seed = int(time.time())",
        "std::mt19937 random(seed = time(nullptr));",
    ],
)
def test_what_draws_fresh_numbers_is_found(line):
    assert FRESH.search(line)


def test_long_runs_may_and_say_how_to_replay():
    for path, option in LONG.items():
        text = (ROOT / path).read_text()
        assert FRESH.search(text) and option in text, path


def test_names_have_numbers_of_their_own(monkeypatch):
    def drawn(name):
        return seeded.generator(name).integers(0, 1 << 60, 4).tolist()

    monkeypatch.delenv("METATE_TEST_SEED", raising=False)
    assert drawn("a") == drawn("a") != drawn("b")
    before = drawn("a")
    monkeypatch.setenv("METATE_TEST_SEED", "12")
    assert drawn("a") == drawn("a") != before
