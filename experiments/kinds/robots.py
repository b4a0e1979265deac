"""Several outputs of a robot at once (`dspp` section 5.3): torques, or the change of its state."""

from pathlib import Path

import numpy as np

from experiments.datasets import Rows, read, rows_of, standardised
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.kinds.fit import scored
from experiments.method import train

_OWN = ("by_trajectory", "held_rows")


@kinds.register("robot")
def robot(record: Record, folder: Path) -> Outcome:
    """Train one model for all outputs; scores are means over outputs, standardised units.

    With `by_trajectory` the targets are the change of state (copying the state is trivial), whole
    trajectories are held out, and the rows of a trajectory stay together. `held_rows` is the most
    there are to validate on and to test on.
    """
    cut = _by_trajectory if record.get("by_trajectory") else rows_of
    rows = _fewer(cut(record, folder), record.get("held_rows"), record["seed"])
    method = {name: value for name, value in record.items() if name not in _OWN}
    return scored(train(method | {"trainer": "outputs"}, rows), rows)


def _fewer(rows: Rows, most: int | None, seed: int) -> Rows:
    """The split with at most so many rows to validate and to test, drawn at random."""
    if most is None:
        return rows
    rng = np.random.default_rng([seed, 1])
    valid, test = (rng.permutation(len(y))[:most] for y in (rows.y_valid, rows.y_test))
    return rows._replace(
        X_valid=rows.X_valid[valid],
        y_valid=rows.y_valid[valid],
        X_test=rows.X_test[test],
        y_test=rows.y_test[test],
    )


def _by_trajectory(record: Record, folder: Path) -> Rows:
    """Two trajectories to test, one to validate, the rest to train; `size` of its rows."""
    import pyarrow.parquet as parquet

    X, y = read(record["data"], folder, "y*")
    change = y - X[:, : y.shape[1]]
    path = folder / f"{record['data']}.parquet"
    trajectory = parquet.read_table(path, columns=["traj"])["traj"].to_numpy()
    rng = np.random.default_rng(record["seed"])
    order = rng.permutation(np.unique(trajectory))
    test, valid = np.isin(trajectory, order[:2]), trajectory == order[2]
    train_rows = rng.permutation(np.flatnonzero(~test & ~valid))[: record.get("size")]
    parts = [train_rows, np.flatnonzero(valid), np.flatnonzero(test)]
    return standardised(Rows(*(array[own] for own in parts for array in (X, change))))
