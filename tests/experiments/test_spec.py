"""Specs are data that can be trusted: they load, their jobs are what they say, names are known."""

import pytest

from experiments.datasets import splits
from experiments.figures import drawings, style_of
from experiments.job import Job
from experiments.judges import judges
from experiments.kinds import kinds
from experiments.method import trainers
from experiments.runner import plan
from experiments.spec import TIERS, SpecError, load_specs, read_spec, select

SPECS = load_specs()
QUICK_SECONDS = 2 * 60 * 60
"""Sixty minutes on two cores."""


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_asks_for_what_there_is(name):
    spec = SPECS[name]
    assert spec.title and spec.figure and spec.claim and spec.plots and spec.claims
    methods = {entry["name"] for entry in spec.methods}
    for plot in spec.plots:
        assert plot.get("draw", "lines") in drawings
    for claim in spec.claims:
        assert claim["says"] and claim["judge"] in judges
        named = [*claim.get("methods", []), *claim.get("than", []), *claim.get("order", [])]
        assert not methods or methods.issuperset(named), (name, named)
    for tier in TIERS:
        for cell in spec.cells(tier):
            record = cell.job.record
            assert record["kind"] in kinds and record["seed"] == cell.labels["seed"]
            assert record.get("split", "airline") in splits
            assert record.get("trainer", "fit") in trainers
            assert "name" not in record and "mark" not in record


@pytest.mark.parametrize("name", SPECS)
def test_the_labels_of_a_figure_name_each_run_once(name):
    for tier in TIERS:
        labels = [tuple(cell.labels.items()) for cell in SPECS[name].cells(tier)]
        assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", SPECS)
def test_no_two_methods_of_a_figure_look_alike(name):
    for tier in TIERS:
        methods = dict.fromkeys(cell.labels.get("method") for cell in SPECS[name].cells(tier))
        looks = [style_of(method, place) for place, method in enumerate(methods)]
        assert len({(look["color"], look["marker"]) for look in looks}) == len(looks)


def test_the_papers_figures_are_there():
    names = {*SPECS, *(other for spec in SPECS.values() for other in spec.also)}
    assert {f"dlm/fig1{letter}" for letter in "abcdefghi"} <= names
    assert {f"dlm/supp{number}" for number in range(1, 16)} <= names
    assert {f"gvi/fig{number}" for number in range(1, 5)} <= names
    assert {"lossem/fig1", "lossem/table4"} <= names
    assert {f"dspp/table{number}" for number in range(1, 4)} <= names
    assert {f"dspp/fig{number}" for number in range(2, 8)} <= names


def test_the_quick_setting_is_quick():
    jobs = plan(SPECS.values(), "quick").values()
    assert sum(planned.cell.estimate for planned in jobs) < QUICK_SECONDS


def test_figures_share_their_runs():
    log_loss, error = (plan([SPECS[name]], "full") for name in ("dlm/supp3", "dlm/supp4"))
    assert log_loss.keys() == error.keys()
    assert plan([SPECS["dlm/fig1d"]], "full").keys() < log_loss.keys()


def test_later_parts_of_a_record_win(tmp_path):
    (tmp_path / "_base.toml").write_text(
        'methods = [{name = "a", beta = 1}, {name = "b", beta = 2}]\n'
        '[job]\nkind = "fit"\nbeta = 0\n'
    )
    (tmp_path / "one.toml").write_text(
        'base = "_base"\ntitle = "t"\nfigure = "f"\nclaim = "c"\nmethods = ["b"]\n'
        'datasets = [{name = "pol", m = 5, max_size = 20}]\n'
        "[job]\nloss = 'elbo'\n[vary]\nsize = [10, 30]\n[full]\nseeds = [7]\njob = {m = 4}\n"
    )
    (cell,) = read_spec(tmp_path / "one.toml").cells("full")
    assert cell.job.record == {
        "kind": "fit", "loss": "elbo", "data": "pol", "m": 5, "size": 10, "beta": 2, "seed": 7
    }  # fmt: skip
    assert cell.labels == {"data": "pol", "size": 10, "method": "b", "seed": 7}


def test_a_key_depends_on_every_field_and_not_on_their_order():
    record = {"kind": "fit", "beta": 1, "kernel": {"name": "rbf", "isotropic": True}}
    assert Job(dict(reversed(record.items()))).key == Job(record).key
    assert Job(record | {"beta": 1.5}).key != Job(record).key
    assert Job(record | {"kernel": {"name": "rbf"}}).key != Job(record).key
    assert Job(record | {"beta": True}).key != Job(record).key


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "is not TOML"),
        ("colour = 1\n[job]\nkind = 'fit'", "has no field colour"),
        ("title = 't'\n[job]\nkind = 'fit'", "figure"),
        ("title='t'\nfigure='f'\nclaim='c'\n[job]\nbeta = 1", "needs a kind"),
        ("title='t'\nfigure='f'\nclaim='c'\n[job]\nkind='fit'\n[quick]\nsteps=3", "has no field"),
        (
            "title='t'\nfigure='f'\nclaim='c'\nmethods=[{name='a'}]\n[job]\nkind='fit'\n"
            "[full]\nmethods=['b']",
            "names unknown methods",
        ),
        ("title='t'\nfigure='f'\nclaim='c'\nmethods=[{beta=1}]\n[job]\nkind='fit'", "unique name"),
    ],
)
def test_a_spec_that_cannot_be_is_refused_in_one_line(text, says, tmp_path):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(SpecError, match=says) as caught:
        read_spec(tmp_path / "bad.toml")
    assert "\n" not in str(caught.value)


def test_selecting_by_paper_figure_and_other_names():
    assert [spec.name for spec in select(SPECS, ["dlm/supp7", "dlm/fig1f"])] == ["dlm/fig1f"]
    assert {spec.paper for spec in select(SPECS, ["lossem"])} == {"lossem"}
    assert len(select(SPECS, [])) == len(SPECS)
    with pytest.raises(SpecError, match="no 'dlm/fig9z' to reproduce; choose"):
        select(SPECS, ["dlm/fig9z"])
