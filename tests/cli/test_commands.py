"""Each command does what its help says, for people and for machines."""

import datetime
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from directgp.cli.console import Terminal
from directgp.cli.fit_result import judged
from directgp.cli.models import TableModel
from directgp.cli.read_rows import read_training_table
from directgp.cli.training_record import remembered
from directgp.linalg.compile_cache import for_workers, keep_compiled_programs
from directgp.tables import read_table, write_table
from directgp.training.progress import Silent

COMMANDS = ["fit", "evaluate", "predict", "decide", "compare", "inspect", "demo"]


def test_help_names_every_command_and_each_teaches_with_an_example(command):
    ended = command("--help")
    assert ended.code == 0
    for name in COMMANDS:
        assert f" {name} " in ended.out
        own = command(name, "--help")
        assert own.code == 0
        assert f"Example: directgp {name} " in re.sub(r"\s+", " ", own.out)


def test_no_arguments_show_the_help_and_the_version_is_known(command):
    import directgp

    assert "Commands" in command().out
    assert command("--version").out == f"directgp {directgp.__version__}\n"


def test_help_does_not_import_jax(environment):
    code = (
        "import sys; from directgp.cli.app import run; run(['fit', '--help']);"
        "heavy = {'jax', 'scipy', 'sklearn', 'matplotlib', 'pyarrow', 'numpy'} & set(sys.modules);"
        "sys.exit(f'imports {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_fit_says_what_it_chose_and_judges_rows_it_kept_aside(command, shop, quick, tmp_path):
    model = tmp_path / "m.dgp"
    ended = command("fit", shop.table, "-o", model, *quick, "--json")
    assert ended.code == 0
    facts = json.loads(ended.out)
    assert facts["target"] == "price" and facts["task"] == "regression"
    assert facts["rows"] == 135 and facts["held_out"]["rows"] == 15
    assert "Target: 'price', because it is the last column" in ended.err
    assert "Column id: dropped" in ended.err
    assert list(tmp_path.iterdir()) == [model]


@pytest.mark.parametrize("task", ["regression", "classes", "counts"])
def test_evaluate_judges_only_rows_that_were_not_trained_on(command, shop, task, tmp_path):
    report = tmp_path / "report.html"
    ended = command("evaluate", shop.models[task], shop.table, "--report", report, "--json")
    assert ended.code == 0
    facts = json.loads(ended.out)
    assert facts["rows"] == 15 and facts["seen_in_training"] is False
    assert "135 of 150 rows are training rows and are left out" in ended.err
    assert facts["scores"]["nll"]["error"] > 0
    page = report.read_text("utf-8")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    for forbidden in ("<b>&", "nan", "http://"):
        assert forbidden not in page.split("</style>")[1]


def test_evaluate_shows_a_linear_model_and_boosted_trees_beside_a_stack(command, shop, tmp_path):
    model, report = tmp_path / "stack.dgp", tmp_path / "r.html"
    fitted = command("fit", shop.table, "--target", "price", "-o", model, "--quiet")
    assert fitted.code == 0
    ended = command("evaluate", model, shop.table, "--report", report, "--json")
    facts = json.loads(ended.out)
    assert list(facts["baselines"]) == ["linear regression", "boosted trees"]
    for each in facts["baselines"].values():
        above = each["nll"]["mean"] - facts["scores"]["nll"]["mean"]
        assert each["nll_above_this_model"]["mean"] == pytest.approx(above)
    page = report.read_text("utf-8")
    assert "Compared with baselines." in page and "Errors against predictions" in page
    assert ("Relevance of inputs" in page) == ("Effect of " in page)


def test_evaluate_on_training_rows_warns_in_words_and_in_the_report(command, shop, tmp_path):
    table, model = tmp_path / "seen.csv", TableModel.load(shop.models["regression"])
    whole = read_table(shop.table)
    from directgp.cli.read_rows import Rows
    from directgp.cli.unseen_rows import unseen

    rows = Rows(whole, model.encoder.encode(whole).X, whole["price"].to_numpy())
    write_table(table, whole.filter(~unseen(rows, model.seen)))
    report = tmp_path / "r.html"
    ended = command("evaluate", shop.models["regression"], table, "--report", report, "--quiet")
    assert ended.code == 0 and ended.out == ""
    assert "are too optimistic" in ended.err
    assert "are too optimistic" in report.read_text("utf-8")
    found = command("evaluate", shop.models["regression"], table, "--json").out
    assert json.loads(found)["seen_in_training"] is True


def test_a_model_of_too_many_rows_says_that_it_does_not_know_them(command, shop, tmp_path):
    model, cost = tmp_path / "m.dgp", tmp_path / "cost.toml"
    loaded = TableModel.load(shop.models["counts"])
    replace(loaded, seen=loaded.seen[:0]).save(model)
    cost.write_text('kind = "newsvendor"\nunder = 4\nover = 1\n')
    found = json.loads(command("evaluate", model, shop.table, "--json").out)
    assert found["rows"] == 150 and found["seen_in_training"] is None
    decided = json.loads(command("decide", model, shop.table, "--cost", cost, "--json").out)
    assert decided["realised"]["seen_in_training"] is None
    for arguments in (
        ["evaluate", model, shop.table],
        ["decide", model, shop.table, "--cost", cost, "-o", tmp_path / "a.csv"],
    ):
        ended = command(*arguments, "--quiet")
        assert ended.code == 0 and "has no record of its training rows" in ended.err


def test_few_enough_rows_are_remembered_and_more_are_not(shop, monkeypatch):
    terminal = Terminal(as_json=False, quiet=True)
    training_table = read_training_table(
        shop.table, terminal, target="price", task="auto", likelihood="auto", drop=[],
        missing="error", holdout=0.1, seed=0,
    )  # fmt: skip
    for most, kept in ((135, 135), (134, 0)):
        monkeypatch.setattr("directgp.cli.training_record._MOST_FINGERPRINTS", most)
        assert len(remembered(training_table)[0]) == kept


@pytest.mark.parametrize(
    ("asked", "kept", "said"), [(None, 0, True), (0.3, 12, False), (0.0, 0, False)]
)
def test_few_rows_keep_none_aside_unless_told_to(
    command, make_houses, shop, tmp_path, capfd, asked, kept, said
):
    table, report = tmp_path / "few.csv", tmp_path / "r.html"
    write_table(table, make_houses(40))
    training_table = read_training_table(
        table, Terminal(as_json=False, quiet=False), target="price", task="auto", likelihood="auto",
        drop=[], missing="error", holdout=asked, seed=0,
    )  # fmt: skip
    assert len(training_table.train) == 40 - kept and training_table.holdout == (asked or 0)
    assert ("None of 40 rows is held out" in capfd.readouterr().err) == said
    if said:
        refused = command("compare", table, "--target", "price", "-q")
        assert refused.code == 2 and "none of 40 is; give --holdout 0.2" in refused.err
        return
    outcome = judged(TableModel.load(shop.models["regression"]), training_table, table, report)
    key, which = ("held_out", "held-out rows") if kept else ("training_rows", "training rows")
    assert outcome.facts[key]["rows"] == (kept or 40) and f"few.csv, {which}" in outcome.page


def test_predict_gives_what_the_model_itself_predicts(command, shop, tmp_path):
    out = tmp_path / "p.parquet"
    arguments = ["predict", shop.models["regression"], shop.table, "-o", out]
    assert command(*arguments, "--quantiles", "0.9,0.1", "--keep", "kind").code == 0
    found, whole = read_table(out), read_table(shop.table)
    assert found.column_names == ["kind", "mean", "std", "q0.1", "q0.9"]
    assert found["kind"].to_pylist() == whole["kind"].to_pylist()
    model = TableModel.load(shop.models["regression"])
    expected = model.fitted.predict(model.encoder.encode(whole).X)
    np.testing.assert_array_equal(found["mean"].to_numpy(), expected.mean)
    np.testing.assert_array_equal(found["q0.9"].to_numpy(), expected.quantile(0.9))
    share = np.mean(whole["price"].to_numpy() < found["q0.9"].to_numpy())
    assert 0.8 < share < 0.98


def test_predict_gives_class_probabilities_under_the_users_labels(command, shop, tmp_path):
    out = tmp_path / "p.csv"
    table = tmp_path / "new.csv"
    write_table(table, read_table(shop.table).drop_columns(["sold"]))  # no truth needed
    assert command("predict", shop.models["classes"], table, "-o", out).code == 0
    found = read_table(out)
    assert found.column_names == ["predicted", "p(no)", "p(yes)"]
    both = found["p(no)"].to_numpy() + found["p(yes)"].to_numpy()
    np.testing.assert_allclose(both, 1.0)
    larger = np.where(found["p(yes)"].to_numpy() > 0.5, "yes", "no")
    assert found["predicted"].to_pylist() == larger.tolist()


def test_predict_without_an_output_writes_csv_or_json_to_stdout(command, shop):
    arguments = ["predict", shop.models["counts"], shop.table]
    lines = command(*arguments).out.splitlines()
    assert lines[0] == '"mean","std","q0.05","q0.5","q0.95"' and len(lines) == 151
    facts = json.loads(command(*arguments, "--json", "--quantiles", "").out)
    assert list(facts["predictions"]) == ["mean", "std"]
    assert facts["predictions"]["mean"][0] == float(lines[1].split(",")[0])


def test_any_column_that_is_kept_can_be_json(command, shop, tmp_path):
    table, cost = tmp_path / "new.parquet", tmp_path / "cost.toml"
    rows = read_table(shop.table).slice(0, 2)
    for name, values in {
        "day": [datetime.date(2024, 2, 29), None],
        "moment": [datetime.datetime(2024, 2, 29, 13, 30), datetime.datetime(2025, 1, 1)],
        "paid": [Decimal("12.50"), Decimal("0.01")],
        "tags": [[Decimal("1.5")], []],
    }.items():
        rows = rows.append_column(name, pa.array(values))
    write_table(table, rows)
    cost.write_text('kind = "binary"\nfalse_positive = 1\nfalse_negative = 9\npositive = "yes"\n')
    keep = [part for name in ("day", "moment", "paid", "tags") for part in ("--keep", name)]
    model = shop.models["classes"]
    for key, begin in {
        "predictions": ["predict", model, table],
        "decisions": ["decide", model, table, "--cost", cost],
    }.items():
        ended = command(*begin, *keep, "--json")
        assert ended.code == 0, ended.err
        found = json.loads(ended.out)[key]
        assert found["day"] == ["2024-02-29", None]
        assert found["moment"] == ["2024-02-29T13:30:00", "2025-01-01T00:00:00"]
        assert found["paid"] == ["12.50", "0.01"] and found["tags"] == [["1.5"], []]


def test_inspect_tells_what_is_in_a_model(command, shop):
    facts = json.loads(command("inspect", shop.models["classes"], "--json").out)
    assert facts["target"] == "sold" and facts["classes"] == ["no", "yes"]
    assert sum(facts["relevance"].values()) == pytest.approx(1.0)
    assert "id" in facts["columns"]
    words = command("inspect", shop.models["classes"]).out
    assert "bernoulli" in words and "no, yes" in words


def test_compare_has_the_stack_of_fit_whatever_is_asked_of_single_gps(
    command, shop, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    options = ["--target", "price", "--models", "stack,elbo", "--max-steps", 5, "--json"]
    found = json.loads(command("compare", shop.table, *options).out)
    assert found["models"]["stack"]["beta"] is None
    assert found["models"]["ELBO"]["beta"] == 1.0


def test_compare_recommends_the_smallest_nll_and_saves_that_model(
    command, shop, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ended = command(
        "compare", shop.table, "-o", "best.dgp", "--report", "c.html", "--json",
        "--max-steps", 60, "--num-inducing", 20, "--models", "elbo,direct", "--target", "price",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    facts = json.loads(ended.out)
    nll = {name: scores["nll"]["mean"] for name, scores in facts["models"].items()}
    assert facts["use"] == min(nll, key=nll.get) and set(nll) == {"ELBO", "direct loss"}
    assert facts["rows"] == 30 and facts["reasons"]
    saved = TableModel.load(tmp_path / "best.dgp")
    assert saved.fitted.beta == facts["models"][facts["use"]]["beta"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best.dgp", "c.html"]


def test_a_streamed_model_predicts_and_warns_that_it_forgot_its_rows(
    command, shop, tmp_path, monkeypatch
):
    table, model = tmp_path / "houses.parquet", tmp_path / "m.dgp"
    write_table(table, read_table(shop.table))
    options = ["--beta", "1", "--epochs", 3, "--num-inducing", 20, "--target", "price"]
    fit = ["fit", table, "-o", model, "--stream", *options, "--json"]

    def full(self, path):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(TableModel, "save", full)
        ended = command(*fit)
    assert ended.code == 2 and "--resume" in ended.err and not model.exists()
    with monkeypatch.context() as strict:
        strict.setattr(Silent, "update", lambda self, state: pytest.fail("it trains again"))
        ended = command(*fit, "--resume")
    assert ended.code == 0, ended.err
    assert set(tmp_path.iterdir()) == {table, model}
    facts = json.loads(ended.out)
    assert facts["streamed"] and facts["holdout"] == 0 and facts["rows"] == 150
    price = read_table(table)["price"].to_numpy()
    (known,) = TableModel.load(model).training
    assert known.mean == pytest.approx(price.mean())
    assert known.variance == pytest.approx(price.var())
    assert "has no record of its training rows" in command("evaluate", model, table, "--quiet").err
    assert command("fit", shop.table, "-o", tmp_path / "n.dgp", "--stream").code == 2


def test_the_same_seed_gives_the_same_model_and_another_seed_another(
    command, shop, quick, tmp_path
):
    files = [tmp_path / f"{k}.dgp" for k in range(3)]
    for file, seed in zip(files, (0, 0, 1), strict=True):
        assert command("fit", shop.table, "-o", file, *quick, "--seed", seed).code == 0
    X = TableModel.load(files[0]).encoder.encode(shop.table).X
    first, again, other = (TableModel.load(f).fitted.predict(X).mean for f in files)
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)


@pytest.fixture
def interrupted_after(monkeypatch):
    """Ctrl-C arrives after so many chunks."""

    def arrange(chunks: int) -> None:
        seen = iter(range(chunks))

        def update(self, state) -> None:
            if next(seen, None) is None:
                raise KeyboardInterrupt

        monkeypatch.setattr(Silent, "update", update)

    return arrange


def test_an_interrupted_fit_is_kept_and_resumes_to_the_same_model(
    command, shop, tmp_path, monkeypatch, interrupted_after
):
    options = ["--beta", "1", "--max-steps", "200", "--num-inducing", "20"]
    whole, model = tmp_path / "whole.dgp", tmp_path / "m.dgp"
    assert command("fit", shop.table, "-o", whole, *options).code == 0
    with monkeypatch.context():
        interrupted_after(2)
        ended = command("fit", shop.table, "-o", model, *options)
    assert ended.code == 130
    assert "--resume" in ended.err and not model.exists()
    assert "Traceback" not in ended.err
    monkeypatch.undo()
    refused = command("fit", shop.table, "-o", model, *options)
    assert refused.code == 2 and "--resume" in refused.err and "--fresh" in refused.err
    assert command("fit", shop.table, "-o", model, *options, "--seed", 1, "--resume").code == 2
    assert command("fit", shop.table, "-o", model, *options, "--resume").code == 0
    assert not (tmp_path / "m.dgp.checkpoint").exists()
    X = TableModel.load(whole).encoder.encode(shop.table).X
    one, other = (TableModel.load(p).fitted.predict(X) for p in (whole, model))
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.variance, other.variance)


def test_fresh_throws_an_interrupted_run_away(command, shop, quick, tmp_path):
    folder = tmp_path / "m.dgp.checkpoint"
    folder.mkdir()
    (folder / "stage-000.safetensors").write_bytes(b"of another run")
    assert command("fit", shop.table, "-o", tmp_path / "m.dgp", *quick, "--fresh").code == 0
    assert not folder.exists()


def test_an_interrupted_comparison_keeps_the_finished_models(
    command, shop, tmp_path, monkeypatch, interrupted_after
):
    monkeypatch.chdir(tmp_path)
    options = ["--target", "price", "--max-steps", 60, "--num-inducing", 20]
    options += ["--models", "elbo,direct"]
    interrupted_after(3)
    ended = command("compare", shop.table, *options)
    assert ended.code == 130 and "--resume" in ended.err
    kept = tmp_path / "houses.compare.checkpoint" / "elbo.dgp"
    before = kept.read_bytes()
    monkeypatch.setattr(Silent, "update", lambda self, state: None)
    refused = command("compare", shop.table, *options, "--seed", 3, "--resume")
    assert refused.code == 2 and kept.read_bytes() == before
    ended = command("compare", shop.table, *options, "--resume", "--json")
    assert ended.code == 0 and set(json.loads(ended.out)["models"]) == {"ELBO", "direct loss"}
    assert not any(tmp_path.iterdir())


def test_an_internal_error_is_one_line_and_names_its_log(command, shop, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(
        "directgp.cli.models.read_table_model", lambda path: {}["a bug of ours"], raising=True
    )
    ended = command("predict", shop.models["classes"], shop.table)
    assert ended.code == 1 and ended.err.count("\n") == 1
    log = re.search(r"traceback is in (.*)\)", ended.err)[1]
    assert str(tmp_path) in log
    with open(log) as file:
        assert "KeyError: 'a bug of ours'" in file.read()


@pytest.fixture
def without_programs_of_the_suite():
    """JAX keeps no programs, as when a user starts."""
    import jax

    own = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", own)


def test_the_compile_cache_is_made_per_machine_and_can_be_switched_off(
    without_programs_of_the_suite, tmp_path, monkeypatch
):
    import jax

    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = {}
    monkeypatch.setattr(jax.config, "update", lambda name, value: kept.update({name: value}))
    monkeypatch.setenv("DIRECTGP_COMPILE_CACHE", "off")
    assert keep_compiled_programs() is None and not kept
    monkeypatch.delenv("DIRECTGP_COMPILE_CACHE")
    folder = keep_compiled_programs()
    assert folder.is_dir() and folder.parent == tmp_path / "directgp"
    assert kept["jax_compilation_cache_dir"] == str(folder)
    assert for_workers(folder) == {name.upper(): str(value) for name, value in kept.items()}
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert keep_compiled_programs() is None  # a cache that cannot be made is no error


@pytest.mark.slow
def test_a_real_interrupt_of_a_real_process_is_kept(shop, tmp_path, environment):
    import signal

    model = tmp_path / "m.dgp"
    arguments = ["fit", shop.table, "-o", model, "--max-steps", 100_000, "--target", "price"]
    call = [sys.executable, "-m", "directgp", *map(str, arguments)]
    process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True, env=environment)
    folder = tmp_path / "m.dgp.checkpoint"
    began = time.monotonic()
    while not any(folder.rglob("*.safetensors")) and time.monotonic() - began < 120:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume" in err and "Traceback" not in err
    assert not model.exists()


@pytest.mark.slow
def test_the_second_run_finds_what_the_first_compiled(shop, quick, tmp_path, environment):
    environment = environment | {"DIRECTGP_COMPILE_CACHE": str(tmp_path / "cache")}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jit_half-written-cache").write_text("by a process that was killed")
    for run in range(2):
        arguments = ["fit", shop.table, "-o", tmp_path / f"{run}.dgp", *quick]
        call = [sys.executable, "-m", "directgp", *map(str, arguments)]
        done = subprocess.run(call, capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == 0
        assert "warn" not in done.stderr.lower() and "cpu" not in done.stderr.lower()
        # The training loop: small programs are kept only where compiling them took long enough.
        found = {p.name for p in (tmp_path / "cache").glob("jit__chunk-*-cache")}
        if run == 0:
            first = found
    assert first and found == first


def test_actions_are_the_answer_even_of_a_quiet_run(command, shop, tmp_path):
    cost = tmp_path / "cost.toml"
    cost.write_text('kind = "newsvendor"\nunder = 4\nover = 1\n')
    for arguments in (
        ["predict", shop.models["counts"], shop.table],
        ["decide", shop.models["counts"], shop.table, "--cost", cost],
    ):
        loud, quiet = command(*arguments), command(*arguments, "--quiet")
        assert quiet.code == 0 and quiet.out == loud.out and quiet.err == ""
        assert len(quiet.out.splitlines()) == 151


@pytest.mark.parametrize("arguments", [["--version"], ["predict"]], ids=["version", "predict"])
def test_a_reader_that_went_away_is_no_complaint(shop, environment, tmp_path, arguments):
    """Little output stays in the buffer until the end: its flush meets the closed pipe."""
    if arguments == ["predict"]:
        few = tmp_path / "few.csv"
        write_table(few, read_table(shop.table).slice(0, 3))
        arguments = ["predict", str(shop.models["counts"]), str(few), "--quiet"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "directgp", *arguments],
            stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=120, env=environment,
        )  # fmt: skip
    assert done.stderr == "" and done.returncode == 1
