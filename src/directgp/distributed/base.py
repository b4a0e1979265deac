"""Processes that train one model together: gather from all, or broadcast from process 0."""

import io
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
import pyarrow as pa
from jax.sharding import Mesh
from jaxtyping import PyTree

from directgp.parameters import on_device

T = TypeVar("T")
AXIS = "shard"
"""The name of the mesh axis along which the rows of a batch are spread."""


class TeamError(ConnectionError):
    """A process of the team did not join, has ended or failed; the message names it."""


class Team(ABC):
    """Processes that run the same program on different rows.

    Whatever decides how the program goes on must be the same in all of them: they `gather` what
    each has found, or `agree` on what the leader (process 0) has.
    """

    index: int
    size: int

    @property
    def leads(self) -> bool:
        """Whether this process is process 0, which writes files and prints."""
        return self.index == 0

    @property
    @abstractmethod
    def mesh(self) -> Mesh:
        """All devices of the team along `AXIS`, those of a process side by side."""

    @abstractmethod
    def gather(self, data: bytes) -> list[bytes]:
        """What every process gave, in the order of processes."""

    def gather_arrays(self, array: np.ndarray) -> list[np.ndarray]:
        """Every process's array; shapes may differ."""
        if self.size == 1:
            return [array]
        return [_read_array(part) for part in self.gather(_written_array(array))]

    def gather_tables(self, table: pa.Table) -> list[pa.Table]:
        """Every process's table."""
        if self.size == 1:
            return [table]
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        parts = self.gather(sink.getvalue().to_pybytes())
        return [pa.ipc.open_stream(part).read_all() for part in parts]

    def gather_values(self, value: Any) -> list[Any]:
        """Every process's value, of a kind that JSON has."""
        return [json.loads(part) for part in self.gather(json.dumps(value).encode())]

    def agree(self, value: Any) -> Any:
        """The leader's value, of a kind that JSON has."""
        return value if self.size == 1 else self.gather_values(value)[0]

    def agree_arrays(self, tree: PyTree) -> PyTree:
        """The tree with the leader's numbers: processors may round differently."""
        if self.size == 1:
            return tree
        arrays, rest = eqx.partition(tree, eqx.is_array)
        leaves, structure = jax.tree.flatten(arrays)
        buffer = io.BytesIO()
        if self.leads:
            np.savez(buffer, *(np.asarray(leaf) for leaf in leaves))
        with np.load(io.BytesIO(self.gather(buffer.getvalue())[0]), allow_pickle=False) as saved:
            agreed = [on_device(saved[f"arr_{number}"]) for number in range(len(leaves))]
        return eqx.combine(jax.tree.unflatten(structure, agreed), rest)

    def clock(self) -> float:
        """The leader's `time.monotonic`."""
        return self.agree(time.monotonic())

    def jointly(self, work: Callable[[], T]) -> T:
        """`work` in every process; what goes wrong in one of them is raised in all."""
        result, problem = None, None
        try:
            result = work()
        except (ValueError, TypeError, OSError, MemoryError) as error:
            if self.size == 1 or isinstance(error, TeamError):
                raise
            problem = error
        said = self.gather_values("" if problem is None else str(problem) or repr(problem))
        if problem is not None:
            raise problem
        for index, text in enumerate(said):
            if text:
                raise TeamError(f"process {index} met a problem: {text}")
        return result  # pyright: ignore[reportReturnType]


class Alone(Team):
    """A single process."""

    index, size = 0, 1

    @property
    def mesh(self) -> Mesh:
        """One device."""
        return Mesh(np.array(jax.local_devices()[:1]), (AXIS,))

    def gather(self, data: bytes) -> list[bytes]:
        """What was given."""
        return [data]


ALONE = Alone()


def _written_array(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _read_array(data: bytes) -> np.ndarray:
    return np.load(io.BytesIO(data), allow_pickle=False)
