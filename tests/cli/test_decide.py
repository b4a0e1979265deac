"""``directgp decide`` and ``fit --cost``: actions, realised costs, reports, and refusals."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from directgp.decisions import BinaryCost, CostMatrix, decide, read_cost
from directgp.tables import read_table, write_table
from directgp.training.progress import Silent

BINARY = 'kind = "binary"\nfalse_positive = 1\nfalse_negative = 9\npositive = "yes"\n'
KINDS = {
    "binary": ("classes", BINARY),
    "reject": (
        "classes",
        'kind = "reject"\nprice = 0.2\n[cost]\nkind = "matrix"\nactions = ["wait", "offer"]\n'
        '[cost.matrix]\nyes = [{ column = "size", times = 0.1 }, 0]\nno = [0, 1]\n',
    ),
    "newsvendor": ("counts", 'kind = "newsvendor"\nunder = 4\nover = 1\n'),
    "square": ("regression", 'kind = "square"\n'),
    "interval": ("regression", 'kind = "interval"\nwidth = 1\nmiss = 20\n'),
    "function": (
        "counts",
        'kind = "function"\nexpression = "minimum(abs(y - action), 5)"\nlower = 0\nupper = 20\n',
    ),
}


@pytest.fixture
def cost(tmp_path):
    """Write a cost file."""

    def write(text):
        path = tmp_path / "cost.toml"
        path.write_text(text)
        return path

    return write


class Page(HTMLParser):
    """Open tags, and what pictures are called."""

    def __init__(self, text):
        super().__init__()
        self.open, self.described = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "rect", "path", "circle"):
            self.open.append(tag)
        self.described += tag == "desc"

    def handle_endtag(self, tag):
        if tag not in ("rect", "path", "circle"):
            assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_cost_decides_judges_and_reports(command, shop, cost, tmp_path, kind):
    task, text = KINDS[kind]
    out, report = tmp_path / "a.parquet", tmp_path / "r.html"
    ended = command(
        "decide", shop.models[task], shop.table, "--cost", cost(text), "-o", out,
        "--report", report, "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    facts, table = json.loads(ended.out), read_table(out)
    assert facts["rows"] == table.num_rows == 150
    policies = facts["realised"]["policies"]
    assert facts["realised"]["rows"] == 15 and not facts["realised"]["seen_in_training"]
    assert policies[0]["name"] == "the model's actions" and policies[0]["error"] >= 0
    assert [p["cost"] for p in policies[1:]] == sorted(p["cost"] for p in policies[1:])
    assert len(policies) > 1
    for policy in policies:
        assert policy["more"] == pytest.approx(
            policy["cost"] - policies[0]["cost"], rel=1e-12, abs=1e-9
        )
    np.testing.assert_allclose(table["expected_cost"].to_numpy().mean(), facts["expected_cost"])
    names = table.column_names
    assert names[0] == ("lower" if kind == "interval" else "action")
    listed = kind in ("binary", "reject")
    assert ("second_best" in names) == listed
    if listed:
        worse = table["second_best_cost"].to_numpy() >= table["expected_cost"].to_numpy()
        assert worse.all()
        assert all(a != b for a, b in zip(table["action"], table["second_best"], strict=True))
    page = report.read_text("utf-8")
    assert not Page(page).open and Page(page).described >= 3
    for forbidden in ("<b>&", "nan", "http://"):
        assert forbidden not in page.split("</style>")[1]


def test_actions_are_those_of_the_library_and_costs_may_come_from_a_column(
    command, shop, cost, tmp_path
):
    out = tmp_path / "a.csv"
    path = cost(KINDS["reject"][1])
    arguments = ["decide", shop.models["classes"], shop.table, "--cost", path]
    assert command(*arguments, "-o", out, "--keep", "id", "-q").code == 0
    found, whole = read_table(out), read_table(shop.table)
    from directgp.cli.models import TableModel

    model = TableModel.load(shop.models["classes"])
    predictive = model.fitted.predict(model.encoder.encode(whole).X)
    amount = 0.1 * whole["size"].to_numpy()
    zero, one = np.zeros(150), np.ones(150)
    by_class = {"no": np.stack([zero, one], 1), "yes": np.stack([amount, zero], 1)}
    prices = CostMatrix(np.stack([by_class["no"], by_class["yes"]], axis=1))
    averages = np.column_stack([decide(predictive, prices).curve().expected, 0.2 * one])
    assert found["id"].to_pylist() == list(range(150))
    chosen = np.array(["wait", "offer", "reject"])[averages.argmin(axis=1)]
    assert found["action"].to_pylist() == chosen.tolist()
    np.testing.assert_allclose(found["expected_cost"].to_numpy(), averages.min(axis=1), rtol=1e-9)
    truth = np.array(whole["sold"].to_pylist()) == "yes"
    real = np.where(
        chosen == "reject", 0.2, np.where(chosen == "wait", amount * truth, 1.0 * ~truth)
    )
    np.testing.assert_allclose(found["realised_cost"].to_numpy(), real, rtol=1e-9)


def test_the_positive_class_may_be_the_first(command, shop, cost, tmp_path):
    swapped = BINARY.replace('"yes"', '"no"')
    facts = {}
    for name, text in (("yes", BINARY), ("no", swapped)):
        ended = command(
            "decide", shop.models["classes"], shop.table, "--cost", cost(text), "--json"
        )
        facts[name] = json.loads(ended.out)["decisions"]["action"]
    assert facts["yes"].count("yes") > facts["no"].count("yes")


def test_rows_without_truth_get_actions_and_no_judgement(command, shop, cost, tmp_path):
    path, table, report = cost(BINARY), tmp_path / "new.csv", tmp_path / "r.html"
    whole = read_table(shop.table)
    write_table(table, whole.drop_columns(["sold"]))
    model = shop.models["classes"]
    ended = command("decide", model, table, "--cost", path, "--report", report)
    assert ended.code == 0 and ended.out.startswith('"action","expected_cost","second_best"')
    assert len(ended.out.splitlines()) == 151 and "No realised costs" in ended.err
    assert "Cost against threshold" in report.read_text("utf-8")
    some = pa.array([v if k % 2 else None for k, v in enumerate(whole["sold"].to_pylist())])
    write_table(table, whole.set_column(whole.column_names.index("sold"), "sold", some))
    facts = json.loads(command("decide", model, table, "--cost", path, "--json").out)
    given = np.array(facts["decisions"]["realised_cost"], dtype=object)
    assert all(v is None for v in given[::2]) and all(v is not None for v in given[1::2])


def test_a_function_of_the_users_own_module(command, shop, cost, tmp_path, monkeypatch):
    (tmp_path / "my_costs.py").write_text(
        "import numpy as np\ndef late(y, action):\n    return np.abs(y - action)\n"
    )
    before = list(sys.path)
    path = cost('kind = "function"\nfunction = "my_costs.py:late"\nactions = [2, 4, 8]\n')
    ended = command("decide", shop.models["counts"], shop.table, "--cost", path, "--json")
    assert ended.code == 0 and set(json.loads(ended.out)["decisions"]["action"]) <= {2, 4, 8}
    assert "Importing my_costs.py:late" in ended.err
    # A module is imported as Python would: the current folder is not searched for it.
    monkeypatch.chdir(tmp_path)
    path = cost('kind = "function"\nfunction = "my_costs:late"\nactions = [2, 4, 8]\n')
    ended = command("decide", shop.models["counts"], shop.table, "--cost", path, "-q")
    assert ended.code == 2 and "name its file" in ended.err and ended.err.count("\n") == 1
    assert sys.path == before and "my_costs" not in sys.modules


FORGED = {"kind": "function", "function": "forged_cost:late", "actions": [2, 4, 8]}


@pytest.fixture
def forged(shop, tmp_path, monkeypatch):
    """A model file that names a function, whose module lies where Python finds it."""
    from directgp.cli.models import TableModel

    model = TableModel.load(shop.models["counts"])
    replace(model, facts=model.facts | {"cost": FORGED}).save(tmp_path / "forged.dgp")
    (tmp_path / "forged_cost.py").write_text("def late(y, action):\n    return abs(y - action)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "forged.dgp"
    sys.modules.pop("forged_cost", None)


def test_a_model_file_cannot_have_its_function_imported(command, forged, shop, tmp_path):
    for arguments in (
        ["decide", forged, shop.table],
        ["decide", forged, shop.table, "--report", "r.html"],
        ["evaluate", forged, shop.table],
        ["inspect", forged],
        ["predict", forged, shop.table],
    ):
        ended = command(*arguments, "--quiet")
        assert "forged_cost" not in sys.modules, arguments
        assert ended.code == (2 if arguments[0] == "decide" else 0), ended
        if arguments[0] == "decide":
            assert "only a name" in ended.err and "--trust-function" in ended.err
            assert ended.err.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_a_function_is_imported_on_the_users_word(command, forged, shop, cost):
    decide = ["decide", forged, shop.table, "--trust-function"]
    other = command(*decide, "os:system", "-q")
    assert other.code == 2 and "does not name the function 'os:system'" in other.err
    assert "forged_cost" not in sys.modules
    ended = command(*decide, "forged_cost:late", "--json")
    assert ended.code == 0, ended.err
    assert "Importing forged_cost:late" in ended.err and "forged_cost" in sys.modules
    assert set(json.loads(ended.out)["decisions"]["action"]) <= {2, 4, 8}
    again = cost('kind = "newsvendor"\nunder = 4\nover = 1\n')
    assert command("decide", forged, shop.table, "--cost", again, "-q").code == 0


def test_fit_for_a_cost_and_decide_by_it(command, shop, cost, tmp_path, quick, monkeypatch):
    model, path = tmp_path / "m.dgp", cost(BINARY)
    fit = ["fit", shop.table, "-t", "sold", "--cost", path, "-o", model, *quick, "--json"]
    fit += ["--holdout", "0.4"]
    refused = command(*fit, "--loss", "direct-log", "-q")
    assert refused.code == 2 and refused.err.count("\n") == 1 and "leave out --loss" in refused.err

    def interrupted(*_arguments, **_named):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr("directgp.decisions.training.run", interrupted)
        ended = command(*fit)
    assert ended.code == 130 and "--resume" in ended.err and not model.exists()
    with monkeypatch.context() as strict:  # the first fit is not made again
        strict.setattr(Silent, "update", lambda self, state: pytest.fail("it trains again"))
        ended = command(*fit, "--resume")
    assert ended.code == 0, ended.err
    assert set(tmp_path.iterdir()) == {model, path}
    facts = json.loads(ended.out)
    assert facts["cost"]["false_negative"] == 9 and facts["loss"] is None
    own = facts["held_out"]["cost"]["policies"]
    # Without --cost the model's own is used, on the same rows.
    again = json.loads(command("decide", model, shop.table, "--json").out)
    assert again["realised"]["policies"] == own
    assert "binary, false_positive 1" in command("inspect", model).out


BAD = {
    "negative": (BINARY.replace("9", "-9"), "false_negative must be ≥ 0, got -9"),
    "zero": (BINARY.replace("= 1", "= 0").replace("9", "0"), "every entry of the binary cost is 0"),
    "nan": (BINARY.replace("9", "nan"), "must be finite"),
    "text": (BINARY.replace("9", '"dear"'), "must be numbers, got 'dear'"),
    "class": (BINARY.replace('"yes"', '"maybe"'), "names the class 'maybe'"),
    "column": (BINARY.replace("9", '{ column = "x" }'), "names the column 'x'"),
    "words": (BINARY.replace("9", '{ column = "kind" }'), "kind"),
    "shape": ('kind = "matrix"\nmatrix = [[0, 1], [1]]\n', "must have rows of one length"),
    "rows": ('kind = "matrix"\nmatrix = [[0, 1], [1, 0], [1, 1]]\n', "3 rows, but there are 2"),
    "lacking": ('kind = "matrix"\n[matrix]\nyes = [0, 1]\nperhaps = [1, 0]\n', "'perhaps'"),
    "kind": ('kind = "gift"\n', "needs kind"),
    "weight": ('kind = "square"\nweight = -1\n', "weight must be ≥ 0"),
    "range": ('kind = "function"\nexpression = "y"\nlower = 2\nupper = 1\n', "below upper"),
    "code": ('kind = "function"\nexpression = "open(y)"\nlower = 0\nupper = 1\n', "'open'"),
    "module": ('kind = "function"\nfunction = "no_such:f"\nlower = 0\nupper = 1\n', "import"),
    "action": ('kind = "function"\nexpression = "y"\nactions = ["a", "b"]\n', "finite numbers"),
    "free": ('kind = "function"\nexpression = "0 * y"\nactions = [0, 1]\n', "is 0 for every"),
    "toml": ("kind = ", "not valid TOML"),
    "empty": ('kind = "matrix"\n[matrix]\n', "must not be empty"),
    "labels": (BINARY.replace('"yes"', '["yes"]'), "label of one class, got ['yes']"),
    "kinds": (BINARY.replace('"binary"', '["binary"]'), "needs kind"),
    "lengths": (BINARY.replace("9", "[9, 8]").replace("= 1", "= [1]"), "1 of false_positive and 2"),
    "deep": (
        f'kind = "function"\nexpression = "{"-" * 999}y"\nactions = [0, 1]\n',
        "levels of nesting",
    ),
    "third": (
        'kind = "function"\nexpression = "maximum(0, y - action, y)"\nactions = [0, 1]\n',
        "gives maximum 3 values; it takes 2",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_cost_is_one_line_and_nothing_is_written(command, shop, cost, tmp_path, name):
    text, complaint = BAD[name]
    path, out = cost(text), tmp_path / "a.csv"
    task = "counts" if "function" in text else "classes"
    model = shop.models[task]
    for arguments in (
        ["decide", model, shop.table, "--cost", path, "-o", out],
        ["fit", shop.table, "-t", "sold", "--cost", path, "-o", tmp_path / "m.dgp"],
    ):
        if arguments[0] == "fit" and "function" in text:
            continue
        ended = command(*arguments)
        assert ended.code == 2, ended
        last = ended.err.strip().splitlines()[-1]
        assert last.startswith("error: ") and re.search(re.escape(complaint), last), last
    assert [p.name for p in tmp_path.iterdir()] == ["cost.toml"]


@pytest.mark.parametrize(
    ("task", "text", "complaint"),
    [
        ("regression", BINARY, "not for the task regression"),
        ("classes", 'kind = "newsvendor"\nunder = 1\nover = 1\n', "not for the task classes"),
    ],
)
def test_a_cost_must_suit_the_model(command, shop, cost, tmp_path, quick, task, text, complaint):
    path = cost(text)
    if task == "classes":
        arguments = ["fit", shop.table, "-t", "sold", "-o", tmp_path / "m.dgp", *quick]
    else:
        arguments = ["decide", shop.models[task], shop.table]
    ended = command(*arguments, "--cost", path)
    assert ended.code == 2 and complaint in ended.err


def test_other_refusals(command, shop, cost, tmp_path):
    path, model = cost(BINARY), shop.models["classes"]
    for arguments, complaint in (
        ([], "was not trained for a cost"),
        (["--cost", tmp_path / "none.toml"], "there is no cost file"),
        (["--cost", path, "-o", path], "is an input"),
        (["--cost", path, "--report", tmp_path / "r.txt"], "ends in .html"),
        (["--cost", path, "--keep", "siez"], "no column 'siez'"),
    ):
        ended = command("decide", model, shop.table, *arguments)
        assert ended.code == 2 and complaint in ended.err, ended
    assert read_cost(path).threshold == BinaryCost(1, 9).threshold
