"""C of the examples' kernels: gcc takes each as C99 without a warning.

Of some examples in each run, of all with METATE_TEST_C_CODE=1.
"""

import os
import shutil

import c_code
import example_kernels
import pytest

# Which run always: dense and sparse trees, gradients, quantised data.
SOME = ("quant_mpm", "fit", "sparse/particle_list")


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_gcc_takes_kernels_of_examples(tmp_path):
    from metate_native import _compiler

    some = None if os.environ.get("METATE_TEST_C_CODE") else SOME
    for number, (name, record) in enumerate(example_kernels.records_of(some, tmp_path / "records").items()):
        text, choices = example_kernels.read(record, "c")
        module = _compiler.SourceModule("module")
        module.parse(text)
        header, (source,) = _compiler.build_static(c_code.with_c_names(module), choices)
        folder = tmp_path / str(number)
        folder.mkdir()
        own = c_code.name_in(header)
        (folder / f"{own}.h").write_text(header)
        (folder / f"{own}.c").write_bytes(source)
        print(f"{name}: {len(source)} bytes")
        c_code.compile_file(folder / f"{own}.c", folder / "module.o", "-O1", "-c")
