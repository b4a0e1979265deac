"""The scaling section at small sizes: every figure is there, and so is the picture."""

import numpy as np
import pytest

from benchmarks.scaling import SIZES, UNITS, Machine, draw, scaling_rows


def test_the_limit_counts_products_or_bytes_whichever_takes_longer():
    fast_memory = Machine(flops=1e9, bytes_a_second=1e30)
    products = 4 * 100 * 10**2 + 4 * 100 * 10 * 3 + 10**3
    assert np.isclose(
        fast_memory.limit(rows=100, inducing=10, columns=3), products / 1e9, rtol=1e-12
    )
    slow_memory = Machine(flops=1e30, bytes_a_second=1e6)
    assert np.isclose(slow_memory.limit(rows=100, inducing=10, columns=3), 8 * 100 * 5 / 1e6)
    assert Machine.measured(size=50, repeats=1).flops > 0


@pytest.mark.slow
def test_steps_are_measured_beside_their_limit(tmp_path):
    sizes = {"inducing points": (5, 10), "columns": (2,), "outputs": (1,), "layers": (1,)}
    rows = scaling_rows(sizes, tmp_path / "scaling.png")
    assert [(row["against"], row["value"]) for row in rows] == [
        (name, value) for name, values in sizes.items() for value in values
    ]
    for row in rows:
        assert row["seconds"] > 0 and row["limit s"] > 0
        assert np.isclose(row["× limit"], row["seconds"] / row["limit s"])
    assert (tmp_path / "scaling.png").stat().st_size > 1000


def test_a_panel_a_quantity(tmp_path):
    rows = [
        {"against": name, "value": v, "of one": UNITS.get(name, "step"), "seconds": 1.0 * v,
         "limit s": 0.5 * v}
        for name, values in SIZES.items()
        for v in values
    ]  # fmt: skip
    draw(rows, tmp_path / "deep" / "scaling.png")
    assert (tmp_path / "deep" / "scaling.png").read_bytes().startswith(b"\x89PNG")
