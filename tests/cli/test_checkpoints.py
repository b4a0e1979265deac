"""Outputs appear together when all is done; what was trained is never thrown away before that."""

import importlib
import json

import numpy as np
import pytest

from directgp.cli.checkpoints import checkpoint_folder
from directgp.cli.files import moved_in_after
from directgp.cli.models import TableModel
from directgp.cli.read_rows import _kept_aside
from directgp.tables import read_table, write_table


def _fails(*_arguments, **_named):
    raise OSError(28, "No space left on device")


def _interrupted(*_arguments, **_named):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("part", "stops", "code", "said"),
    [
        ("fit_result.report_of_targets", _interrupted, 130, "Interrupted. Checkpoints are in"),
        ("models.TableModel.save", _fails, 2, "device; make room on the disk, or write to another"),
    ],
    ids=["interrupt", "full disk"],
)
def test_a_fit_that_is_stopped_at_the_end_is_resumed_without_training(
    command, shop, quick, tmp_path, monkeypatch, part, stops, code, said
):
    model, report, folder = (tmp_path / name for name in ("m.dgp", "r.html", "m.dgp.checkpoint"))
    report.write_text("of last week")
    fit = ["fit", shop.table, "-o", model, "--report", report, *quick]
    with monkeypatch.context() as broken:
        broken.setattr(f"directgp.cli.{part}", stops)
        ended = command(*fit)
    last = ended.err.splitlines()[-1]
    assert ended.code == code and ended.out == "" and said in last
    assert f"Checkpoints are in {folder}; run the same command with --resume" in last
    assert report.read_text() == "of last week"
    assert set(tmp_path.iterdir()) == {folder, report}
    monkeypatch.setattr("directgp.training.loop.run_chunk", _fails)
    ended = command(*fit, "--resume", "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["held_out"]["rows"] == 15
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert set(tmp_path.iterdir()) == {model, report}


def test_a_fit_checks_its_parts_once_and_writes_its_model_once(
    command, shop, quick, tmp_path, monkeypatch
):
    calls = []
    for place in ("training.check_parts", "training._cost", "models.save"):
        owner, name = place.split(".")
        module = importlib.import_module(f"directgp.cli.{owner}")
        own = getattr(module, name)

        def counted(*args, place=place, own=own, **named):
            calls.append(place)
            return own(*args, **named)

        monkeypatch.setattr(module, name, counted)
    cost = tmp_path / "cost.toml"
    cost.write_text('kind = "binary"\nfalse_positive = 1\nfalse_negative = 9\npositive = "yes"\n')
    ended = command(
        "fit", shop.table, "-o", tmp_path / "m.dgp", "-t", "sold", *quick, "--cost", cost
    )
    assert ended.code == 0, ended.err
    assert calls == ["training.check_parts", "training._cost", "models.save"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cost.toml", "m.dgp"]


def test_text_is_moved_in_only_after_its_block(tmp_path):
    path = tmp_path / "r.html"
    with moved_in_after(path, "new"):
        assert not path.exists()
    assert path.read_text() == "new"
    with pytest.raises(KeyboardInterrupt), moved_in_after(path, "newer"):
        raise KeyboardInterrupt
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["aside", "train"])
def test_each_target_must_be_known_where_it_is_learned_and_where_it_is_judged(
    command, tmp_path, where
):
    aside = _kept_aside(60, 0.1, 0)
    known = ~aside if where == "aside" else aside
    table = tmp_path / "t.csv"
    x = np.arange(60) / 7
    second = [float(v) if k else None for v, k in zip(np.cos(x), known, strict=True)]
    write_table(table, {"x": x, "one": np.sin(x), "two": second})
    ended = command("fit", table, "-t", "one", "-t", "two", "-o", tmp_path / "m.dgp")
    told = "6 rows held out" if where == "aside" else "54 rows left to train on"
    assert ended.code == 2 and f"error: target 'two' is missing in all {told}" in ended.err
    assert "Training on" not in ended.err
    assert list(tmp_path.iterdir()) == [table]


COMPARE = ["--target", "price", "--max-steps", 60, "--num-inducing", 20, "--models", "elbo,direct"]


def test_a_comparison_that_fails_at_the_end_is_resumed_without_training(
    command, shop, tmp_path, tmp_path_factory, monkeypatch
):
    """Also of so many rows that a model does not remember them all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("directgp.cli.training_record._MOST_FINGERPRINTS", 10)
    outputs = ["--report", "c.html", "-o", "best.dgp"]
    with monkeypatch.context() as broken:
        broken.setattr("directgp.report.comparison_report", _fails)
        ended = command("compare", shop.table, *COMPARE, *outputs)
    assert ended.code == 2 and "No space left" in ended.err
    (folder,) = tmp_path.iterdir()
    assert {p.name for p in folder.iterdir()} >= {"elbo.dgp", "direct.dgp"}
    monkeypatch.setattr("directgp.cli.contenders.train", _fails)
    other = tmp_path_factory.mktemp("other") / shop.table.name
    rows = read_table(shop.table).to_pydict()
    write_table(other, rows | {"price": [price + 1 for price in rows["price"]]})
    ended = command("compare", other, *COMPARE, *outputs, "--resume")
    assert ended.code == 2 and "is from other rows or options" in ended.err
    ended = command("compare", other, *COMPARE[:-1], "beta-elbo,deep", "--resume")
    assert ended.code == 2 and "is from other rows or options" in ended.err
    ended = command("compare", shop.table, *COMPARE, *outputs, "--resume", "--json")
    assert ended.code == 0, ended.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best.dgp", "c.html"]
    used = json.loads(ended.out)["use"]
    loss = {"ELBO": "elbo", "direct loss": "direct-log"}[used]
    assert TableModel.load(tmp_path / "best.dgp").facts["loss"] == loss


@pytest.mark.parametrize("name", ["m.html", "./m.html", "sub/../m.html"])
def test_a_report_and_a_model_need_two_names(command, shop, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for name_of_command in ("fit", "compare"):
        ended = command(name_of_command, shop.table, "-o", "m.html", "--report", name)
        assert ended.code == 2 and ended.err.count("\n") == 1
        assert "both the report and the output; give two names" in ended.err
    assert [p.name for p in tmp_path.iterdir()] == ["sub"]


def test_an_output_may_not_replace_an_input_by_another_name(command, shop, tmp_path):
    cost, link = tmp_path / "cost.toml", tmp_path / "link.dgp"
    cost.write_text('kind = "binary"\nfalse_positive = 1\nfalse_negative = 9\npositive = "yes"\n')
    link.hardlink_to(cost)
    for output in (cost, link, tmp_path / "." / ".." / tmp_path.name / "cost.toml"):
        ended = command("fit", shop.table, "-t", "sold", "--cost", cost, "-o", output)
        assert ended.code == 2 and "is an input" in ended.err


def test_an_interrupt_says_what_a_comparison_keeps(command, shop, tmp_path, monkeypatch):
    """While a later contender compiles it has no checkpoint, but finished models wait."""
    from directgp.cli import contenders

    own = contenders.train

    def train(training_table, options, terminal, **more):
        if options.loss == "elbo":
            return own(training_table, options, terminal, **more)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(contenders, "train", train)
    ended = command("compare", shop.table, *COMPARE)
    assert ended.code == 130 and "othing was written" not in ended.err
    assert "Checkpoints are in houses.compare.checkpoint" in ended.err and "--resume" in ended.err
    assert (tmp_path / "houses.compare.checkpoint" / "elbo.dgp").exists()
    fresh = command("compare", shop.table, *COMPARE[:-1], "direct,beta-elbo", "--fresh")
    assert fresh.code == 130 and fresh.err.endswith("Interrupted. Nothing was written.\n")


def test_a_folder_without_files_is_no_interrupted_run(tmp_path):
    (tmp_path / "a.compare.checkpoint" / "elbo").mkdir(parents=True)
    assert checkpoint_folder(tmp_path / "a.compare", None).is_dir()
