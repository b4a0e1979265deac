"""Communication of processes that train one model: gather from all, broadcast from process 0."""

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
    """A process did not join, has ended or failed; the message names it."""


class Team(ABC):
    """Processes that run the same program on different rows.

    Control flow must be the same in all of them, so decisions depend on values that all have:
    those `gather`ed from all processes, or `agree`d on, which takes the value of process 0.
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
        """All devices of all processes along `AXIS`, in the order of processes."""

    @abstractmethod
    def gather(self, data: bytes) -> list[bytes]:
        """The data of every process, in the order of processes."""

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
        """Every process's value, of a JSON type."""
        return [json.loads(part) for part in self.gather(json.dumps(value).encode())]

    def agree(self, value: Any) -> Any:
        """The value of process 0, of a JSON type."""
        return value if self.size == 1 else self.gather_values(value)[0]

    def agree_arrays(self, tree: PyTree) -> PyTree:
        """The tree with the arrays of process 0, as processors may round differently."""
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
        """`time.monotonic` of process 0."""
        return self.agree(time.monotonic())

    def jointly(self, work: Callable[[], T]) -> T:
        """Run `work` in every process; an error in one of them is raised in all."""
        result, problem = None, None
        try:
            result = work()
        except (ValueError, TypeError, OSError, MemoryError) as error:
            if self.size == 1 or isinstance(error, TeamError):
                raise
            problem = error
        messages = self.gather_values("" if problem is None else str(problem) or repr(problem))
        if problem is not None:
            raise problem
        for index, text in enumerate(messages):
            if text:
                raise TeamError(f"process {index} failed: {text}")
        return result  # pyright: ignore[reportReturnType]


class Alone(Team):
    """A single process."""

    index, size = 0, 1

    @property
    def mesh(self) -> Mesh:
        """One device."""
        return Mesh(np.array(jax.local_devices()[:1]), (AXIS,))

    def gather(self, data: bytes) -> list[bytes]:
        """The data of this process."""
        return [data]


ALONE = Alone()


def _written_array(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _read_array(data: bytes) -> np.ndarray:
    return np.load(io.BytesIO(data), allow_pickle=False)
