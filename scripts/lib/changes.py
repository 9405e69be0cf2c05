"""Which files of the checkout were changed since a landed state: for scripts/test --quick and clang-tidy."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def landed() -> str:
    """Where this branch left the main one; the commit before HEAD when it has not. Empty without git."""
    head = git("rev-parse", "HEAD")
    for main in ("@{upstream}", "origin/main", "main"):
        base = git("merge-base", "HEAD", main)
        if base and base != head:
            return base
    return git("rev-parse", "HEAD~1")


def changed(since: str | None = None) -> list[str]:
    """Paths of files that are there and differ from that revision, committed or not, untracked ones too."""
    base = since or landed()
    if not base:
        return []
    paths = {*git("diff", "--name-only", base).splitlines(), *git("ls-files", "-o", "--exclude-standard").splitlines()}
    return sorted(path for path in paths if (ROOT / path).is_file())
