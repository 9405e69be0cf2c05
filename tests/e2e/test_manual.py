"""The pages of docs/manual say what is true: their Python blocks run, page by page, and print what they say.

The navigation has every page, and links lead somewhere: what scripts/docs would find, without building the site.
"""

import contextlib
import io
import linecache
import pathlib
import re

import pytest

import metate as mt
from metate.interop import vdb
from metate.linalg import sparse_native

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MANUAL = DOCS / "manual"
PAGES = sorted(page.relative_to(MANUAL).with_suffix("").as_posix() for page in MANUAL.rglob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Pages of files and commands are run by tests/aot/test_manual_ship.py.
WITH_BLOCKS = [page for page in PAGES if not page.startswith("ship/") and BLOCK.search((MANUAL / f"{page}.md").read_text())]
NEEDS = {"OpenVDB": vdb.available, "Eigen": sparse_native.available}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some pages save modules
    yield
    mt.reset()


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_every_block_prints_what_the_page_says(page):
    file = MANUAL / f"{page}.md"
    text = file.read_text()
    names = {"__name__": "manual"}
    for block in BLOCK.finditer(text):
        needs = re.match(r"# needs (\w+)\n", block[1])
        if needs and not NEEDS[needs[1]]():
            continue
        line = text[: block.start(1)].count("\n")
        # Padded with empty lines and known to linecache, so that errors show the page's lines.
        code, name = "\n" * line + block[1], f"{file}:{line + 1}"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), names)
        expected = re.findall(r"^# -> (.*)$", block[1], re.MULTILINE)
        if expected:
            assert printed.getvalue().splitlines() == expected, f"{name}\n{block[1]}"


def test_many_pages_have_blocks():
    assert len(WITH_BLOCKS) >= 18


def entries(page):
    """The pages that the toctrees of a page name; of a pattern all that fit."""
    for tree in TOCTREE.findall(page.read_text()):
        for entry in filter(None, (line.strip() for line in tree.splitlines())):
            if not entry.startswith(":"):
                found = list(page.parent.glob(f"{entry}.md"))
                assert found or "*" in entry, f"{page.name}: {entry} is no page"
                yield from (one.resolve() for one in found)


def test_the_navigation_has_every_page():
    index = MANUAL / "index.md"
    reached = set(entries(index))
    assert {page.resolve() for page in MANUAL.rglob("*.md")} <= reached | {index}
    listed = {(MANUAL / link).resolve() for link in re.findall(r"^\| \[[^\]]+\]\(([^)]+)\)", index.read_text(), re.MULTILINE)}
    assert listed == reached - {index}, "docs/manual/index.md: a row `| [Title](page.md) | what it is about |` for each page"


def anchors(text):
    """Names of a page's headings, as GitHub and Sphinx give them."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_and_headings(page):
    file = MANUAL / f"{page}.md"
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", BLOCK.sub("", file.read_text())):
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), f"{page}: {link}"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{page}: {link}: no such heading"
