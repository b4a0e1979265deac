"""Stand-ins for large packages: they save the time, and what is used of them is the real thing."""

import subprocess
import sys

import pytest


def run(code: str) -> str:
    """What some code prints in a fresh process that has the block at hand."""
    given = f"import sys\nfrom directgp.linalg.lean_imports import lean_imports\n{code}"
    done = subprocess.run([sys.executable, "-c", given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LEAN = """
with lean_imports():
    import sklearn.base, sklearn.ensemble, sklearn.linear_model
"""


def test_scikit_learn_comes_without_them():
    code = "print([name for name in ('pandas', 'scipy.stats') if name in sys.modules])"
    assert run(LEAN + code) == "[]"
    assert run(f"import sklearn.ensemble\n{code}") == "['pandas', 'scipy.stats']"


def test_trees_grow_without_them():
    code = LEAN + (
        "import numpy as np\n"
        "X = np.arange(60.0)[:, None]\n"
        "model = sklearn.ensemble.HistGradientBoostingRegressor(max_iter=20).fit(X, X[:, 0] > 30)\n"
        "print(model.predict([[50.0]])[0] > 0.5, 'pandas' in sys.modules, "
        "'scipy.stats' in sys.modules)"
    )
    assert run(code) == "True False False"


def test_what_scikit_learn_uses_later_is_the_real_thing():
    code = LEAN + (
        "from sklearn.utils import fixes\n"
        "from sklearn.metrics import _ranking\n"
        "from sklearn.preprocessing import _data\n"
        "from sklearn.covariance import _robust_covariance\n"
        "print(_ranking.rankdata([30, 10, 20]).tolist(), _data.stats.norm.cdf(0.0))\n"
        "print(round(_robust_covariance.chi2.isf(0.5, 1), 4), "
        "fixes.pd.DataFrame({'a': [7]}).a[0])\n"
        "import pandas, scipy.stats\n"
        "print(fixes.pd.DataFrame is pandas.DataFrame, _data.stats.norm is scipy.stats.norm)"
    )
    assert run(code).split("\n") == ["[3.0, 1.0, 2.0] 0.5", "0.4549 7", "True True"]


def test_tables_of_pandas_are_known_after_it():
    code = LEAN + (
        "import pandas\n"
        "frame = pandas.DataFrame({'a': [1.0, 2.0, 3.0]})\n"
        "model = sklearn.linear_model.LinearRegression().fit(frame, [1.0, 2.0, 3.0])\n"
        "print(model.feature_names_in_.tolist())\n"
        "scaler = sklearn.preprocessing.StandardScaler().set_output(transform='pandas')\n"
        "print(type(scaler.fit_transform(frame)) is pandas.DataFrame)"
    )
    assert run(code).split("\n") == ["['a']", "True"]


@pytest.mark.parametrize(
    "statement",
    ["import pandas", "from pandas import DataFrame", "import pandas.core.frame"],
)
def test_after_the_block_imports_are_ordinary(statement):
    code = LEAN + f"{statement}\nprint(type(sys.modules['pandas']).__name__)"
    assert run(code) == "module"


def test_after_an_error_imports_are_ordinary():
    code = (
        "try:\n"
        "    with lean_imports():\n"
        "        import pandas\n"
        "        raise KeyError\n"
        "except KeyError:\n"
        "    print('pandas' in sys.modules, pandas.DataFrame.__name__, 'pandas' in sys.modules)"
    )
    assert run(code) == "False DataFrame True"


def test_packages_in_memory_are_left_as_they_are():
    code = (
        "import pandas\nwith lean_imports():\n    import pandas as again\nprint(again is pandas, "
        "'pandas' in sys.modules)"
    )
    assert run(code) == "True True"


def test_another_thread_gets_the_package_itself():
    code = (
        "import threading\n"
        "found = []\n"
        "def other():\n"
        "    from pandas import DataFrame\n"
        "    import scipy.stats\n"
        "    found.append((isinstance(DataFrame, type), scipy.stats.norm.cdf(0.0)))\n"
        "with lean_imports():\n"
        "    thread = threading.Thread(target=other)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "print(found[0][0], float(found[0][1]))"
    )
    assert run(code) == "True 0.5"
