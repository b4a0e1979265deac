"""What every test shares: checked shapes, float64, seeded randomness, real data."""

import gc
import os

# Most of the suite's time is XLA compiling programs that run for milliseconds: much less of
# it without LLVM's optimisations and with XLA's older emitters of loops, which are in the same
# library and need no MLIR. Before JAX is imported; XLA_FLAGS="" gives the programs that users run.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
    " --xla_cpu_parallel_codegen_split_count=1",
)
# Every worker has one core. Threads of OpenMP and BLAS that wait for another worker's turn on it
# spin, which was most of the time of scikit-learn's trees.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Never the user's folder of compiled programs; the suite has its own, see tests/programs.py.
os.environ["DIRECTGP_COMPILE_CACHE"] = "off"

import jax
import numpy as np
import pytest
from hypothesis import settings

from tests.checked_types import check_types
from tests.programs import compile_hastily, keep_programs
from tests.tiers import is_heavy

gc.disable()  # until all that tests import is there, see pytest_collection_finish

# Before any import of them, so that every annotated shape and dtype is checked at run time.
check_types(["directgp", "experiments"])

# The first example of a property compiles, the others do not: a deadline would only be flaky.
settings.register_profile("directgp", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("directgp")


def pytest_configure(config: pytest.Config) -> None:
    """Programs of earlier runs and of the other worker are not compiled again."""
    keep_programs(is_worker=hasattr(config, "workerinput"))
    compile_hastily()


def pytest_collection_finish() -> None:
    """What has been imported is there to stay: not to be searched for cycles again and again."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.fixture(autouse=True)
def _precision(request: pytest.FixtureRequest):
    """Float64 in each test, except in those marked `float32_default`."""
    if request.node.get_closest_marker("float32_default"):
        yield
    else:
        with jax.enable_x64(True):
            yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark heavy tests; skip those of machine code where it is turned off or cannot work."""
    from directgp.linalg.native import self_test

    for item in items:
        examples = ""
        if isinstance(item, pytest.DoctestItem):
            examples = "".join(example.source for example in item.dtest.examples)
        if is_heavy(item.nodeid.split("::")[0], examples):
            item.add_marker(pytest.mark.heavy)
    # By the platform alone: where machine code should work, its absence is a failure.
    off = os.environ.get("DIRECTGP_NATIVE", "on").lower() == "off"
    reason = "DIRECTGP_NATIVE=off" if off else "machine code is made on Linux x86-64 only"
    if off or not self_test.is_supported():
        for item in items:
            if item.get_closest_marker("machine_code"):
                item.add_marker(pytest.mark.skip(reason=reason))
