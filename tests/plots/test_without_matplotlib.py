"""Everything but drawing works where matplotlib is not installed."""

import subprocess
import sys
import textwrap


def test_only_drawing_needs_matplotlib(tmp_path):
    script = """
    import sys

    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("matplotlib", "PIL"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Hidden())
    import directgp
    import directgp.cli.app, directgp.cli.demo, directgp.report.demo_report
    assert callable(directgp.fit) and "plots" in dir(directgp)
    for way in ("directgp.plots", "__import__('directgp.plots')"):
        try:
            eval(way)
        except directgp.DirectGPError as error:
            assert isinstance(error, ModuleNotFoundError)
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.stderr == ""
    assert run.stdout.splitlines() == ["drawing needs matplotlib; pip install directgp[plots]"] * 2
