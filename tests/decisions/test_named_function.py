"""Functions by name: imported on the user's word alone, and `sys.path` stays as it is."""

import sys

import numpy as np
import pytest

from directgp.decisions import cost_from, decide, read_cost
from directgp.decisions.named_function import NamedFunction, UntrustedFunction, imported
from directgp.predictive import ClassProbabilities

SETTINGS = {"kind": "function", "function": "a_module_for_costs:late", "actions": [0, 1]}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that Python finds, and that says when it is imported."""
    (tmp_path / "a_module_for_costs.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Price:\n    one: float = 2.0\n"
        "def late(y, action):\n    return Price().one * abs(y - action)\n"
        "number = 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("a_module_for_costs", None)


def test_settings_alone_import_nothing(module):
    cost = cost_from(SETTINGS)
    assert "a_module_for_costs" not in sys.modules
    p = ClassProbabilities(np.log([[0.5, 0.5]]))
    for evaluate in (
        lambda: decide(p, cost),
        lambda: cost.realised([0.0], [1.0]),
        lambda: cost.expected(p, np.array([0.0])),
    ):
        with pytest.raises(UntrustedFunction, match="--trust-function a_module_for_costs:late"):
            evaluate()
    assert "a_module_for_costs" not in sys.modules


def test_a_trusted_name_is_imported(module):
    with pytest.raises(UntrustedFunction):
        cost_from(SETTINGS, trust="other:late").realised([0.0], [1.0])
    assert cost_from(SETTINGS, trust=["a_module_for_costs:late"]).realised([0], [1]).tolist() == [2]


def test_a_file_beside_the_cost_file_is_loaded_without_a_path(module, tmp_path):
    before, file = list(sys.path), tmp_path / "cost.toml"
    name = "a_module_for_costs.py:late"
    file.write_text(f'kind = "function"\nfunction = "{name}"\nactions = [0, 1]\n')
    assert read_cost(file).realised([0], [1]).tolist() == [2]
    assert sys.path == before and "a_module_for_costs" not in sys.modules


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("numpy:linalg", "no function 'linalg'"),
        ("a_module_for_costs:number", "no function 'number'"),
        ("a_module_for_costs:__class__", "no function '__class__'"),
        ("numpy:linalg.solve", "must be 'module:function'"),
        ("../up:late", "must be 'module:function'"),
        ("a b:late", "must be 'module:function'"),
        ("a\nb.py:late", "must be 'module:function'"),
        (":late", "must be 'module:function'"),
        ("x" * 300 + ":late", "must be 'module:function'"),
        (3, "must be 'module:function'"),
        ("no_such.py:late", "there is no file"),
        ("no_such_module:late", "name its file"),
    ],
)
def test_other_names_are_refused_in_one_line(module, name, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        imported(name, module)
    assert "\n" not in str(caught.value)


def test_a_name_says_what_it_is():
    assert repr(NamedFunction("a:b")) == "NamedFunction('a:b')"
