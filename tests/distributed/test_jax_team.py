"""Two processes that train one model get what one process gets from the same shards."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import directgp as dg
from directgp.cli.app import run
from directgp.distributed.roll_call import free_port
from tests.flat import flat

MEMBER = Path(__file__).with_name("member.py")
REPOSITORY = Path(__file__).resolve().parents[2]
ROWS = 900
OPTIONS = {
    "target": "y", "num_inducing": 8, "batch_size": 61, "epochs": 3, "kernel": "rbf", "seed": 3
}  # fmt: skip
DEEP = {"layers": 2, "deep": "samples", "width": 1, "num_sites": 3, "beta": 1.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files with row groups of unequal sizes, in an order that is not random."""
    folder = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, ROWS))
    kind = np.array(["u", "v"])[rng.integers(2, size=ROWS)]
    y = 50.0 + 7.0 * (np.sin(2 * x) + (kind == "v") + 0.2 * rng.normal(size=ROWS))
    table = pa.table({"x": x, "kind": kind, "y": y})
    parquet.write_table(table.slice(0, 700), folder / "a.parquet", row_group_size=400)
    parquet.write_table(table.slice(700), folder / "b.parquet", row_group_size=45)
    return folder


def together(fits_of, folder, dies=()):
    """Exit codes and what was said by processes that each do their own fits."""
    coordinator = f"127.0.0.1:{free_port()}"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    members = []
    try:
        for index, fits in enumerate(fits_of):
            asked = {
                "size": len(fits_of), "index": index, "coordinator": coordinator, "fits": fits,
                "folder": str(folder), "dies": index in dies,
            }  # fmt: skip
            command = [sys.executable, str(MEMBER), json.dumps(asked)]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            members.append(subprocess.Popen(command, env=environment, text=True, **pipes))
        said = [member.communicate(timeout=900) for member in members]
    finally:
        for member in members:
            member.kill()
    return [member.returncode for member in members], said


def alone(fits):
    """What one process finds that reads both shards."""
    spec = importlib.util.spec_from_file_location("member", MEMBER)
    member = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(member)
    done = [dg.fit_stream(**flat(shards=2, **fit)).fitted for fit in fits]
    return {
        f"{number} {name}": value
        for number, fitted in enumerate(done)
        for name, value in member.numbers(fitted).items()
    }


def check_same(fits, folder):
    codes, said = together([fits, fits], folder)
    assert codes == [0, 0], said
    assert [text for pair in said for text in pair] == [""] * 4
    expected = alone(fits)
    with np.load(folder / "0.npz") as first, np.load(folder / "1.npz") as second:
        assert set(first) == set(second) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)
            np.testing.assert_allclose(first[name], value, rtol=1e-8, atol=1e-8, err_msg=name)
    return expected


def test_two_processes_give_what_one_gives(folder, tmp_path):
    found = check_same([{"source": str(folder), "beta": 1.0, **OPTIONS}], tmp_path)
    assert len(found["0 held out"]) == ROWS // 10
    assert len(found["0 validation"]) == len(found["0 step"]) > 1


@pytest.mark.slow
def test_so_they_do_with_random_numbers_and_when_beta_is_chosen(folder, tmp_path):
    shared = {"source": str(folder), **OPTIONS}
    found = check_same([shared | DEEP, shared | {"beta": [0.1, 1.0], "patience": 2}], tmp_path)
    assert found["1 beta"] in (0.1, 1.0)


@pytest.mark.slow
def test_files_of_their_own(folder, tmp_path):
    # All parts at one rate: 40 steps of other rows are compared, at the usual pace in full swing.
    options = {"beta": 1.0, "learning_rate": 0.05, **OPTIONS}
    fit = {"own_files": True, **options}
    fits_of = [[fit | {"source": str(folder / name)}] for name in ("a.parquet", "b.parquet")]
    codes, said = together(fits_of, tmp_path)
    assert codes == [0, 0], said
    one = dg.fit_stream(folder, **flat(**options)).fitted
    with np.load(tmp_path / "0.npz") as first:
        np.testing.assert_allclose(first["0 input scales"], np.stack(one.inputs), rtol=1e-12)
        assert first["0 held out"].mean() == pytest.approx(one.held_out.mean(), abs=0.1)


@pytest.mark.slow
def test_a_problem_that_one_process_meets_is_told_by_all(folder, tmp_path):
    fit = {"own_files": True, "beta": 1.0, **OPTIONS}
    sources = str(folder / "a.parquet"), str(folder / "absent.parquet")
    codes, said = together([[fit | {"source": source}] for source in sources], tmp_path)
    assert codes == [1, 1]
    first, second = (error.strip() for _, error in said)
    assert first.startswith("TeamError: process 1 failed: there is no file")
    assert second.startswith("TableError: there is no file")
    assert "\n" not in first + second


@pytest.mark.slow
def test_a_process_that_dies_in_training_is_noticed(folder, tmp_path):
    fits = [{"source": str(folder), "beta": 1.0, **OPTIONS}]
    codes, said = together([fits, fits], tmp_path, dies=[1])
    assert codes == [1, -9]
    assert said[0][1].startswith("TeamError: another process stopped responding")
    assert len(said[0][1].strip().splitlines()) == 1


@pytest.mark.slow
def test_the_command_starts_its_processes(folder, tmp_path, capfd):
    model = tmp_path / "model.dgp"
    arguments = ["fit", str(folder), "--target", "y", "-o", str(model), "--processes", "2"]
    more = ["--num-inducing", "8", "--epochs", "2", "--beta", "1", "--kernel", "rbf", "--json"]
    assert run([*arguments, *more]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["rows"] == ROWS
    assert model.exists()
    assert not list(tmp_path.glob("*.checkpoint"))
    assert run(["inspect", str(model)]) == 0


def test_who_does_not_come_is_named_in_one_line(folder, capsys):
    arguments = ["fit", str(folder), "--target", "y", "--num-processes", "3"]
    team = ["--coordinator", f"127.0.0.1:{free_port()}", "--join-timeout", "0.3"]
    assert run([*arguments, *team, "--process-id", "0"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("error: processes 1, 2 of 3 did not connect within 0.3 s; start every")
    assert "\n" not in said
    assert run([*arguments, *team, "--process-id", "1"]) == 2
    assert "got no answer from process 0 at 127.0.0.1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--coordinator", "here:1"], "--num-processes and --process-id go together"),
        (["--own-files"], "--own-files is for several processes"),
        (["--processes", "0"], "--processes must be at least 1, got 0"),
        (["--processes", "2", "--coordinator", "here:1"], "give one"),
        (
            ["--coordinator", "here", "--num-processes", "2", "--process-id", "0"],
            "a coordinator is HOST:PORT (such as node7:29500), got 'here'",
        ),
        (
            ["--coordinator", "here:1", "--num-processes", "2", "--process-id", "2"],
            "process_id must be from 0 to num_processes − 1, got 2 of 2",
        ),
    ],
    ids=["incomplete", "own", "none", "both", "address", "number"],
)
def test_options_that_make_no_team(folder, capsys, arguments, words):
    assert run(["fit", str(folder), "--target", "y", *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert words in said
    assert "\n" not in said
