"""Type checkers of other projects see the types of directgp (py.typed)."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "directgp"
CONSUMER = """
import directgp as dg

reveal_type(dg.fit)
reveal_type(dg.GaussianMixture.quantile)
reveal_type(dg.plots.band)
dg.save("not a model", "model.dgp")
"""


@pytest.fixture
def site_packages(tmp_path) -> Path:
    """Where directgp is installed as a wheel would be, beside what it depends on."""
    folder = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "directgp").symlink_to(SOURCE)
    (folder / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder


def test_a_consumer_sees_types_and_mistakes(site_packages, tmp_path):
    assert (SOURCE / "py.typed").read_bytes() == b""
    (tmp_path / "consumer.py").write_text(CONSUMER)
    # Without library code, pyright reads only packages that say they are typed.
    settings = {"venvPath": ".", "venv": "env", "useLibraryCodeForTypes": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings | {"include": ["*.py"]}))
    pyright = [sys.executable, "-m", "pyright", "--outputjson"]
    run = subprocess.run(pyright, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)["generalDiagnostics"]
    fit, quantile, band, mistake = found
    assert "(X: Any, y: Any, *, " in fit["message"] and "-> FittedGP" in fit["message"]
    assert "levels:" in quantile["message"] and "Unknown" not in quantile["message"]
    assert "axes: Axes | None" in band["message"]
    assert mistake["rule"] == "reportArgumentType" and '"fitted"' in mistake["message"]
