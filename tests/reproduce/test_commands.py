"""``directgp reproduce`` and ``directgp results``: what they do, say and refuse."""

import json

import pytest

from directgp.cli.app import run


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


REPRODUCE = ("reproduce", "--specs", "specs", "--data", ".", "--workers", "1")


def test_run_list_export_import(command, tmp_path):
    code, out, err = command(*REPRODUCE, "toy/dice", "--json", "--page", ".")
    told = json.loads(out)
    assert code == 0 and told["runs"] == {"done": 4, "stored": 0, "failed": 0}
    assert told["figures"]["toy/dice"]["verdict"] == "reproduced"
    assert "4/4 toy/dice dice high seed=1" in err
    assert (tmp_path / "reproduction.md").exists() and (tmp_path / "gallery.html").exists()
    code, out, err = command(*REPRODUCE, "toy", "--full")
    assert code == 0 and "2 runs done, 4 were there already" in out and "reproduced" in out
    code, out, _ = command("reproduce", "--specs", "specs", "--list", "--json")
    assert code == 0 and json.loads(out)["figures"]["toy/dice"]["full"]["missing"] == 0
    code, out, _ = command("results", "--method", "low", "--export", "low.jsonl", "--json")
    assert code == 0 and [row["seed"] for row in json.loads(out)["runs"]] == [0, 1, 2]
    code, out, err = command("results", "--store", "b.sqlite", "--import", "low.jsonl")
    assert code == 0 and "3 new runs" in err and "3 of 3 runs" in out


def test_only_some_of_the_runs(command):
    chosen = ("--only", "method=low", "--only", "seed=1,2")
    code, out, _ = command(*REPRODUCE, "toy/dice", "--full", "--json", *chosen)
    assert code == 0 and json.loads(out)["runs"]["done"] == 2
    code, out, _ = command("results", "--json")
    found = {(run["method"], run["seed"]) for run in json.loads(out)["runs"]}
    assert found == {("low", 1), ("low", 2)}
    code, out, _ = command(*REPRODUCE, "toy/dice", "--full", "--json")
    assert code == 0 and json.loads(out)["runs"] == {"done": 4, "stored": 2, "failed": 0}


def test_listing_computes_nothing_and_makes_no_store(command, tmp_path):
    code, out, _ = command("reproduce", "--specs", "specs", "--list")
    assert code == 0 and "0/4 runs" in out and not (tmp_path / "reproduction.sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*REPRODUCE, "toy/other"), "there is no 'toy/other' to reproduce; choose a paper (toy)"),
        (("reproduce", "--specs", "nowhere"), "no folder of specs nowhere"),
        ((*REPRODUCE, "--quick", "--full"), "exclude each other"),
        ((*REPRODUCE[:-1], "0"), "--workers must be at least 1, got 0"),
        ((*REPRODUCE, "--page", "nowhere"), "no folder nowhere for the page"),
        (("reproduce", "--specs", "specs", "--data", "specs"), "specs lacks dice.parquet; give"),
        ((*REPRODUCE, "--only", "pol"), "must read LABEL=VALUE,…, got 'pol'"),
        ((*REPRODUCE, "--only", "seed=9"), "no run has seed=9; there are data=dice; method="),
        (("results",), "there is no store reproduction.sqlite"),
        (("results", "--import", "nothing.jsonl"), "no file nothing.jsonl to import"),
        ((*REPRODUCE, "--store", "specs"), "specs cannot be a store"),
        ((*REPRODUCE, "toy/long"), "there is no quick setting of toy/long; use --full"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(command, long, tmp_path, arguments, says):
    code, out, err = command(*arguments)
    assert code == 2 and out == "" and says in err and err.count("\n") == 1
    assert not list(tmp_path.glob("*.sqlite*")), "nor is a store made"


def test_a_figure_without_a_quick_setting_is_told_with_the_others(command, long, tmp_path):
    assert command(*REPRODUCE, "toy/long", "--full", "-q")[0] == 0
    code, out, _ = command(*REPRODUCE, "--json", "--page", ".")
    told = json.loads(out)
    assert code == 0 and told["runs"] == {"done": 0, "stored": 4, "failed": 0}
    assert told["figures"]["toy/long"]["runs"] == 6
    assert "toy/long" in (tmp_path / "reproduction.md").read_text("utf-8")


def test_failed_runs_end_with_code_one_and_the_first_message(command, toy):
    toy(job="fails = [1]")
    code, _, err = command(*REPRODUCE, "-q")
    assert code == 1 and "2 runs failed, the first toy/dice dice low seed=1: RuntimeError" in err


def test_an_interrupt_keeps_what_is_done(command, toy, monkeypatch):
    import directgp.reproduce.scheduler as scheduler

    toy(quick=4)
    execute, calls = scheduler.execute, []

    def interrupted(record, data):
        calls.append(record)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return execute(record, data)

    monkeypatch.setattr(scheduler, "execute", interrupted)
    code, _, err = command(*REPRODUCE, "-q")
    assert code == 130 and "2 of 8 runs are kept in reproduction.sqlite; run the same" in err
    code, out, _ = command(*REPRODUCE, "--json")
    assert code == 0 and json.loads(out)["runs"] == {"done": 6, "stored": 2, "failed": 0}
