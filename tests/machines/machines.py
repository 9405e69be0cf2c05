"""Machines that this one emulates: how C is compiled for each, linked with an object of ours, and run."""

import dataclasses
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
BOARD = ROOT / "examples" / "firmware" / "board"
WARNINGS = ("-Wall", "-Wextra", "-Werror")


@dataclasses.dataclass(frozen=True)
class Machine:
    """A target, the C compiler of the machine, what its programs need, and what runs them."""

    target: str
    compiler: tuple[str, ...]
    sources: tuple[str, ...]
    link: tuple[str, ...]
    emulator: tuple[str, ...] = ()

    def need(self):
        """Skips the test, and says so, where what the machine needs is not installed."""
        for tool in (self.compiler[0], *self.emulator[:1]):
            if not shutil.which(tool):
                pytest.skip(f"{self.target}: '{tool}' is not installed: scripts/setup installs it")

    def build(self, program: pathlib.Path, *sources, flags=()):
        """Links C files and objects to a program."""
        own = [HERE / source for source in self.sources]
        run(*self.compiler, "-std=c11", "-O1", *WARNINGS, *flags, f"-I{program.parent}", f"-I{ROOT / 'abi'}",
            *sources, *own, "-o", program, *self.link)  # fmt: skip

    def run(self, program: pathlib.Path, *arguments) -> str:
        """Its text; a program that fails, fails the test."""
        return run(*self.emulator, program, *arguments)


def run(*command, cwd=None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=cwd)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def _linux(target: str, name: str) -> Machine:
    return Machine(target, (f"{name}-linux-gnu-gcc",), ("stdio.c",), ("-static", "-lm"), (f"qemu-{name}",))


def _bare(target: str, cpu: str, floats: str, board: str) -> Machine:
    compiler = (
        "arm-none-eabi-gcc",
        "-mthumb",
        f"-mcpu={cpu}",
        f"-mfloat-abi={floats}",
        "-ffreestanding",
        "-ffunction-sections",
        f"-I{BOARD}",
    )
    scripts = [f"-Wl,-T,{BOARD / script}" for script in (f"{board}.ld", "sections.ld")]
    # No C library: what is missing fails the link. libm for what no instruction does, libgcc for the arithmetic of its compiler.
    link = ("-nostdlib", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--no-warn-execstack", *scripts, "-lm", "-lgcc")
    emulator = ("qemu-system-arm", "-M", f"mps2-{board}", "-display", "none", "-monitor", "none", "-serial", "none",
                "-chardev", "stdio,id=text", "-semihosting-config", "enable=on,target=native,chardev=text",
                "-kernel")  # fmt: skip
    return Machine(target, compiler, ("../../examples/firmware/board/start.c",), link, emulator)


HOST = Machine("x86-64", ("gcc",), ("stdio.c",), ("-lm",))
MACHINES = {
    machine.target: machine
    for machine in (
        _linux("aarch64", "aarch64"),
        _linux("riscv64", "riscv64"),
        _bare("thumbv7em-none-eabi", "cortex-m4", "soft", "an386"),
        _bare("thumbv7em-none-eabihf", "cortex-m4", "hard", "an386"),
        _bare("thumbv8m.main-none-eabi", "cortex-m33", "soft", "an505"),
        _bare("thumbv8m.main-none-eabihf", "cortex-m33", "hard", "an505"),
    )
}
