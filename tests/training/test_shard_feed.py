"""Shards of a table: every row is somebody's, and their batches add up to the objective."""

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.distributed import ALONE, Team, TeamError
from directgp.objective import Batch, Parts
from directgp.tables import TableError
from directgp.tables.parquet_source import ParquetSource
from directgp.tables.shards import deal
from directgp.tables.stream import StreamedRows
from directgp.training import adam
from directgp.training.chunk import Descent, ShardedRows, run_chunk, run_sharded_chunk
from directgp.training.loop import Settings
from directgp.training.shard_feed import ShardFeed, contributions

ROWS = 1_000


@pytest.fixture
def path(tmp_path):
    table = pa.table({"x": np.arange(ROWS) / 4, "y": np.arange(ROWS) / 3})
    parquet.write_table(table.slice(0, 600), tmp_path / "a.parquet", row_group_size=400)
    parquet.write_table(table.slice(600), tmp_path / "b.parquet", row_group_size=90)
    return tmp_path


class Member(Team):
    """A process of a team whose other members say what they are told to."""

    def __init__(self, index, said):
        self.index, self.size, self._said = index, len(said), said

    @property
    def mesh(self):
        class Two:
            size = 2

        return Two()

    def gather(self, data):
        return [data if own is None else own for own in self._said]


def test_every_row_group_is_dealt_once(path):
    source = ParquetSource(path)
    hands = deal(source, ALONE, 3, False).local
    assert [hand.num_rows for hand in hands] == [400, 290, 310]
    rows = np.concatenate([piece.table["x"] for hand in hands for piece in hand.pieces()])
    assert sorted(4 * rows) == list(range(ROWS))
    firsts = [piece.first for hand in hands for piece in hand.pieces()]
    assert firsts == [0, 400, 870, 600, 690, 780, 960]


def test_a_process_reads_its_own_shards(path):
    source = ParquetSource(path)
    halves = [deal(source, Member(index, [None, None]), 4, False) for index in (0, 1)]
    assert [list(half.numbers) for half in halves] == [[0, 1], [2, 3]]
    together = [piece.first for half in halves for hand in half.local for piece in hand.pieces()]
    whole = deal(source, ALONE, 4, False).local
    assert together == [piece.first for hand in whole for piece in hand.pieces()]


def test_processes_must_see_the_same_files_or_say_that_they_do_not(path):
    other = b'{"columns": ["x", "y"], "spans": [[0, 70]]}'
    source = ParquetSource(path)
    with pytest.raises(TeamError, match="process 1 reads other files than process 0; give both"):
        deal(source, Member(0, [None, other]), None, False)
    own = deal(source, Member(1, [other, None]), None, True)
    assert own.num_rows == ROWS + 70
    assert next(iter(own.local[0].pieces())).first == 70
    with pytest.raises(TeamError, match="process 1 reads other columns"):
        deal(source, Member(0, [None, other.replace(b"x", b"z")]), None, True)


@pytest.mark.parametrize(
    ("count", "words"), [(9, "7 row groups, too few for 9 shards"), (0, "must be a multiple of 1")]
)
def test_numbers_of_shards_that_cannot_be(path, count, words):
    with pytest.raises(TableError, match=words):
        deal(ParquetSource(path), ALONE, count, False)


def test_problems_of_one_are_problems_of_all():
    def broken():
        raise TableError("row 7 is odd")

    member = Member(0, [None, b'"row 9 is odd"'])
    with pytest.raises(TableError, match="row 7 is odd"):
        member.jointly(broken)
    with pytest.raises(TeamError, match="process 1 failed: row 9 is odd"):
        member.jointly(lambda: 1)
    assert Member(0, [None, b'""']).jointly(lambda: 1) == 1


def test_the_leaders_word_counts():
    assert Member(1, [b"0.25", None]).agree(0.5) == 0.25
    tree = {"a": jnp.arange(3.0), "b": "name"}
    sent = []

    class Leader(Member):
        def gather(self, data):
            sent.append(data)
            return [data, b""]

    Leader(0, [None, None]).agree_arrays(tree)
    follower = Member(1, [sent[0], None])
    got = follower.agree_arrays({"a": jnp.zeros(3), "b": "name"})
    np.testing.assert_array_equal(got["a"], tree["a"])
    assert got["b"] == "name"


def test_the_number_of_shards_changes_no_statistic(path):
    one, three = StreamedRows.open(path), StreamedRows.open(path, shards=3)
    for ours, theirs in zip(
        (*one.inputs, *one.targets, *one.sample, *one.held_out),
        (*three.inputs, *three.targets, *three.sample, *three.held_out),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    assert three.shard_rows.sum() == three.num_rows == one.num_rows == 900
    held = np.round(4 * three.held_out.X[:, 0])
    assert three.shard_rows[0] == 400 - np.sum(held < 400)


def test_batches_take_their_share_of_every_shard(path):
    rows = StreamedRows.open(path, shards=3, buffer_rows=300)
    feed = ShardFeed(rows, rows.inputs, rows.targets)
    counts = contributions(30, rows.shard_rows)
    assert counts.sum() == 30
    X, y, weight = feed._batches(Settings(steps=30, batch_size=30), counts, 0, 30)
    rows.close()
    assert X.shape == (30, 3, counts.max(), 1)
    np.testing.assert_array_equal(weight.sum(axis=2), np.tile(counts, (30, 1)))
    numbers = 4 * (X[..., 0] * rows.inputs.scale + rows.inputs.shift)
    first = np.round(numbers[:, 0][weight[:, 0] > 0])
    assert first.max() < 400
    assert len(set(first[: rows.shard_rows[0]])) == rows.shard_rows[0]  # each row once an epoch
    assert np.isfinite(y).all()


def test_shards_add_up_to_the_objective(rng):
    """Σ_s (n_s/b_s) Σ_i loss + β penalty, and its gradient, by one weighted batch."""
    sizes, counts = np.array([70.0, 20.0]), np.array([4, 3])
    X, y = rng.normal(size=(5, 2, 4, 1)), rng.normal(size=(5, 2, 4))
    weight = np.ones((5, 2, 4))
    weight[:, 1, 3] = 0.0

    class GP(tuple):
        model, likelihood = property(lambda self: self[0]), property(lambda self: self[1])

    def objective(model, likelihood, batch, *, beta, num_data, key):
        losses = batch.weight * (batch.y - model * batch.X[:, 0] - likelihood) ** 2
        risk = num_data / batch.y.shape[0] * jnp.sum(losses)
        penalty = beta * (model**2 + likelihood**2)
        return risk + penalty, Parts(risk, penalty)

    learned = GP((jnp.asarray(0.3), jnp.asarray(-0.2)))
    jax.tree_util.register_pytree_node(GP, lambda gp: (tuple(gp), None), lambda _, kids: GP(kids))
    fixed = GP((None, None))
    rates, beta = jnp.full(5, 0.1), jnp.asarray(3.0)
    key, first = jax.random.key(0), jnp.asarray(0)
    descent = Descent(learned, adam.init(learned), fixed, objective, rates, beta, first, key)
    stand_for = sizes * 4 / counts
    rows = ShardedRows([X, y, weight], stand_for, np.arange(2, dtype=np.int32))
    (ours, _), trace = run_sharded_chunk(descent, rows, 90.0, ALONE)
    flat = weight * (sizes / counts / (90.0 / 8))[:, None]
    data = Batch(*(jnp.asarray(part.reshape(40, *part.shape[3:])) for part in (X, y, flat)))
    order = jnp.arange(40).reshape(5, 8)
    (theirs, _), expected = run_chunk(descent, data, order, jnp.asarray(90.0), thorough=True)
    np.testing.assert_allclose(tuple(ours), tuple(theirs), rtol=1e-12)
    for part, other in zip(trace, expected, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-12)
