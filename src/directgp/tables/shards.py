"""Partition of a Parquet table into shards, which are assigned to processes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from directgp.distributed import Team, TeamError
from directgp.tables.messages import TableError
from directgp.tables.parquet_source import ParquetSource


@dataclass(frozen=True)
class Shards:
    """The shards of a table, of which this process reads `local`.

    The result of a fit depends on the number of shards, not on the number of processes that share
    them.
    """

    team: Team
    count: int
    num_rows: int
    """Rows of all shards."""
    local: tuple[ParquetSource, ...]

    @property
    def numbers(self) -> range:
        """The numbers of the shards that this process reads."""
        first = self.team.index * len(self.local)
        return range(first, first + len(self.local))

    def sizes(self, held_rows: np.ndarray) -> Int[np.ndarray, "S"]:
        """Rows of every shard that are not held out."""
        own = []
        for source in self.local:
            ends = source.spans[:, :1] + source.spans[:, 1:] * [0, 1]
            held = np.diff(np.searchsorted(held_rows, ends), axis=1).sum()
            own.append(source.num_rows - int(held))
        found = np.concatenate(self.team.gather_arrays(np.array(own, np.int64)))
        if found.min() < 1:
            raise TableError(
                f"shard {int(found.argmin())} of {self.count} has no rows to learn from; use "
                "fewer processes"
            )
        return found


def deal(source: ParquetSource, team: Team, count: int | None, own_files: bool) -> Shards:
    """Assign the row groups of a table to shards, balanced by the number of rows.

    Args:
        source: the files that this process sees.
        team: the processes of the fit.
        count: the number of shards, a multiple of the number of devices; None: one per device.
        own_files: whether each process has its own files, instead of all reading the same.

    Returns:
        The shards, with those that this process reads.
    """
    places = team.mesh.size
    count = places if count is None else count
    if count < 1 or count % places:
        raise TableError(
            f"the number of shards must be a multiple of {places} (the devices of the team), "
            f"got {count}"
        )
    names = [str(name) for name in source.column_names]
    everyone = team.gather_values({"columns": names, "spans": source.spans.tolist()})
    for index, other in enumerate(everyone):
        if other["columns"] != everyone[0]["columns"]:
            raise TeamError(f"process {index} reads other columns than process 0; give it the same")
        if not own_files and other["spans"] != everyone[0]["spans"]:
            raise TeamError(
                f"process {index} reads other files than process 0; give both the same, or let "
                "each have its own files (own_files=True, --own-files)"
            )
    here = count // team.size
    if own_files:
        rows = [sum(size for _, size in other["spans"]) for other in everyone]
        hands = _hands(source, here)
        local = tuple(source.part(hand, offset=sum(rows[: team.index])) for hand in hands)
        return Shards(team, count, sum(rows), local)
    hands = _hands(source, count)[team.index * here : (team.index + 1) * here]
    return Shards(team, count, source.num_rows, tuple(source.part(hand) for hand in hands))


def _hands(source: ParquetSource, count: int) -> list[list[int]]:
    """Row groups of `count` shards: the largest first, to the shard with the fewest rows."""
    sizes = source.spans[:, 1]
    if len(sizes) < count:
        raise TableError(
            f"{source} has {len(sizes)} row groups, too few for {count} shards; write it with "
            "smaller row groups, or use fewer processes"
        )
    hands: list[list[int]] = [[] for _ in range(count)]
    loads = np.zeros(count, np.int64)
    for group in np.argsort(-sizes, kind="stable"):
        chosen = int(loads.argmin())
        hands[chosen].append(int(group))
        loads[chosen] += sizes[group]
    return hands
