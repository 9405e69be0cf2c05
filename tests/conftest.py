"""Fixtures shared by all Python tests: random data that are the same in every run (seeded.py)."""

import os
import signal

# Tests test the compiler, and share no cache with the user; those of the cache have folders of their own.
os.environ.setdefault("METATE_OFFLINE_CACHE", "0")

# A process that `nohup` or `&` in a script started ignores SIGINT, and so do those that it starts: tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import c_code
import device_tests
import hypothesis
import ptxas
import pytest
import seeded
import vulkan_layer

import metate as mt

ptxas.settle()
c_code.settle()
if device_tests.ARCH:
    device_tests.stand_in()

hypothesis.settings.register_profile("suite", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("long", database=None, deadline=None, print_blob=True)


@pytest.fixture
def rng(request):
    """A generator that depends on the test's name; METATE_TEST_SEED=N gives other data."""
    return seeded.generator(request.node.nodeid)


def pytest_addoption(parser):
    group = parser.getgroup("sample", "a part of the tests: scripts/test --quick")
    group.addoption("--share", type=float, default=1.0, help="of the tests, drawn by --share-seed")
    group.addoption("--share-seed", type=int, default=0)
    group.addoption("--whole", action="append", default=[], metavar="PATH", help="a file or folder of which all tests run")


def pytest_collection_modifyitems(config, items):
    """Keeps the share; a test is drawn by its name alone, so that workers and runs agree."""
    if device_tests.ARCH:  # what cannot pass there
        device_tests.mark(items, device_tests.ARCH)
    share, seed = config.getoption("--share"), config.getoption("--share-seed")
    if share >= 1:
        return
    whole = tuple(config.getoption("--whole"))
    drawn = lambda item: seeded.generator(f"{seed} {item.nodeid}").random() < share
    kept = {item for item in items if item.nodeid.startswith(whole) or drawn(item)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_configure(config):
    hypothesis.settings.load_profile("long" if seeded.seed() else "suite")


def pytest_report_header(config):
    return f"METATE_TEST_SEED={seeded.seed()}"


@pytest.fixture(scope="session")
def validation(tmp_path_factory):
    """What Khronos' layer says of this process; None where no test runs on Vulkan."""
    if device_tests.ARCH != "vulkan" or not vulkan_layer.LAYER.exists():
        return None
    return vulkan_layer.Messages(tmp_path_factory.mktemp("validation"))


@pytest.fixture(autouse=True)
def nothing_invalid(validation):
    """A test that has Vulkan used wrongly fails with the layer's words."""
    yield
    if validation is not None:
        said = validation.fresh()
        assert said == "", said


@pytest.fixture(autouse=True, scope="module")
def usual_context(validation):
    """Each file leaves the context that it found. METATE_TEST_INTERP=STAGE: one that runs every kernel of the tests in the
    reference interpreter, as it is after that stage. METATE_TEST_ARCH=ARCH: one that runs them on another machine."""
    stage, arch = os.environ.get("METATE_TEST_INTERP"), device_tests.ARCH
    usual = {"arch": mt.interp, "interp_stage": stage} if stage else {"arch": arch, "enable_fallback": False} if arch else {}
    begin = mt.context.current()
    if usual and begin.options.arch != usual["arch"]:
        mt.init(**usual)
        begin = mt.context.current()
    yield
    if mt.context.current() is not begin:
        mt.init(**usual)


@pytest.fixture(params=["default", "always"])
def lanes_either_way(request):
    """A context as it is, and one with lanes whether they pay or not."""
    options = {} if request.param == "default" else {"chunk_ns": 0, "threads": 2}
    with mt.Context(**options):
        yield request.param
