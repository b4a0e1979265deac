"""``python -m experiments list | run | results | page``: what they do, say and refuse."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.commands.app import run

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def command(toy, tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder that has the toy specs; (code, out, err)."""
    monkeypatch.chdir(tmp_path)
    toy()
    (tmp_path / "dice.parquet").touch()  # the jobs only look whether it is there

    def call(*arguments):
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return call


@pytest.fixture
def long(command, tmp_path):
    """A figure of the same runs that is only run in full."""
    path = tmp_path / "specs" / "toy" / "long.toml"
    path.write_text('base = "dice"\n[quick]\nmethods = []\n')


RUN = ("run", "--specs", "specs", "--data", ".", "--workers", "1")


def test_run_list_export_import(command, tmp_path):
    code, out, err = command(*RUN, "toy/dice", "--json", "--page", ".")
    told = json.loads(out)
    assert code == 0 and told["runs"] == {"done": 4, "stored": 0, "failed": 0}
    assert told["figures"]["toy/dice"]["verdict"] == "reproduced"
    assert "4/4 toy/dice dice high seed=1" in err
    assert (tmp_path / "reproduction.md").exists() and (tmp_path / "gallery.html").exists()
    code, out, err = command(*RUN, "toy", "--full")
    assert code == 0 and "2 runs done, 4 were there already" in out and "reproduced" in out
    code, out, _ = command("list", "--specs", "specs", "--json")
    assert code == 0 and json.loads(out)["figures"]["toy/dice"]["full"]["missing"] == 0
    code, out, _ = command("results", "--method", "low", "--export", "low.jsonl", "--json")
    assert code == 0 and [row["seed"] for row in json.loads(out)["runs"]] == [0, 1, 2]
    code, out, err = command("results", "--store", "b.sqlite", "--import", "low.jsonl")
    assert code == 0 and "3 new runs" in err and "3 of 3 runs" in out


def test_only_some_of_the_runs(command):
    chosen = ("--only", "method=low", "--only", "seed=1,2")
    code, out, _ = command(*RUN, "toy/dice", "--full", "--json", *chosen)
    assert code == 0 and json.loads(out)["runs"]["done"] == 2
    code, out, _ = command("results", "--json")
    found = {(run["method"], run["seed"]) for run in json.loads(out)["runs"]}
    assert found == {("low", 1), ("low", 2)}
    code, out, _ = command(*RUN, "toy/dice", "--full", "--json")
    assert code == 0 and json.loads(out)["runs"] == {"done": 4, "stored": 2, "failed": 0}


def test_listing_computes_nothing_and_makes_no_store(command, tmp_path):
    code, out, _ = command("list", "--specs", "specs")
    assert code == 0 and "0/4 runs" in out and not (tmp_path / "reproduction.sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*RUN, "toy/other"), "there is no 'toy/other' to reproduce; choose a paper (toy)"),
        (("run", "--specs", "nowhere"), "no folder of specs nowhere"),
        (("list", "--specs", "nowhere"), "no folder of specs nowhere"),
        (("list", "toy/other", "--specs", "specs"), "see python -m experiments list"),
        (("list", "--specs", "specs", "--workers", "0"), "--workers must be at least 1, got 0"),
        ((*RUN, "--quick", "--full"), "exclude each other"),
        ((*RUN[:-1], "0"), "--workers must be at least 1, got 0"),
        ((*RUN, "--page", "nowhere"), "no folder nowhere for the page"),
        (("run", "--specs", "specs", "--data", "specs"), "specs lacks dice.parquet; give"),
        ((*RUN, "--only", "pol"), "must be LABEL=VALUE,…, got 'pol'"),
        ((*RUN, "--only", "seed=9"), "no run has seed=9; there are data=dice; method="),
        (("results",), "there is no store reproduction.sqlite; fill one with python -m"),
        (("page", "."), "there is no store reproduction.sqlite; fill one with python -m"),
        (("page", "nowhere"), "no folder nowhere for the page; make it first"),
        (("page",), "Missing argument 'DIR'; see python -m experiments page --help"),
        (("page", ".", "toy/other", "--specs", "specs"), "there is no 'toy/other' to reproduce"),
        (("reproduce",), "No such command 'reproduce'; see python -m experiments --help"),
        (("results", "--import", "nothing.jsonl"), "no file nothing.jsonl to import"),
        ((*RUN, "--store", "specs"), "specs cannot be a store"),
        ((*RUN, "toy/long"), "there is no quick setting of toy/long; use --full"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(command, long, tmp_path, arguments, says):
    code, out, err = command(*arguments)
    assert code == 2 and out == "" and says in err and err.count("\n") == 1
    assert not list(tmp_path.glob("*.sqlite*")), "nor is a store made"


def test_a_scheduler_that_does_not_answer_is_an_error_of_one_line(command):
    code, out, err = command(*RUN, "-q", "--scheduler", "nonsense://")
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "no Dask scheduler answers at nonsense://" in err and "dask scheduler" in err


def test_a_figure_without_a_quick_setting_is_told_with_the_others(command, long, tmp_path):
    assert command(*RUN, "toy/long", "--full", "-q")[0] == 0
    code, out, _ = command(*RUN, "--json", "--page", ".")
    told = json.loads(out)
    assert code == 0 and told["runs"] == {"done": 0, "stored": 4, "failed": 0}
    assert told["figures"]["toy/long"]["runs"] == 6
    assert "toy/long" in (tmp_path / "reproduction.md").read_text("utf-8")


def test_failed_runs_end_with_code_one_and_the_first_message(command, toy):
    toy(job="fails = [1]")
    code, _, err = command(*RUN, "-q")
    assert code == 1 and "2 runs failed, the first toy/dice dice low seed=1: RuntimeError" in err


def test_an_interrupt_keeps_what_is_done(command, toy, monkeypatch):
    import experiments.scheduler as scheduler

    toy(quick=4)
    execute, calls = scheduler.execute, []

    def interrupted(record, data):
        calls.append(record)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return execute(record, data)

    monkeypatch.setattr(scheduler, "execute", interrupted)
    code, _, err = command(*RUN, "-q")
    assert code == 130 and "2 of 8 runs are stored in reproduction.sqlite; run the same" in err
    code, out, _ = command(*RUN, "--json")
    assert code == 0 and json.loads(out)["runs"] == {"done": 6, "stored": 2, "failed": 0}


def test_the_page_alone_is_the_page_after_a_run(command, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    assert command(*RUN, "--page", first, "-q")[0] == 0
    code, out, _ = command("page", second, "--specs", "specs", "--json")
    told = json.loads(out)
    assert code == 0 and told["verdicts"] == {"reproduced": 1}
    assert told["written"] == [str(second / "reproduction.md"), str(second / "gallery.html")]
    pages = [folder / "reproduction.md" for folder in (first, second)]
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert "Numbers that were drawn" in (second / "gallery.html").read_text("utf-8")
    code, out, _ = command("page", second, "toy/dice", "--specs", "specs")
    assert code == 0 and "1 figures and tables: 1 reproduced." in out and "Written: " in out


def test_the_package_is_a_command_that_plans_without_jax(tmp_path):
    """As a user starts it, from the root of the repository; JAX alone would take a second."""
    script = (
        "import runpy, sys; sys.argv[1:] = ['list', 'lossem/fig1', '--json', '--store', 'none'];\n"
        "try: runpy.run_module('experiments', run_name='__main__', alter_sys=True)\n"
        "finally: assert not {'jax', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["figures"]["lossem/fig1"]["title"] == "The power plant"
