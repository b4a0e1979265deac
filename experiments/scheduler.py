"""Executors of jobs: this process, local processes, or a Dask cluster."""

import contextlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from experiments.errors import SchedulerError
from experiments.execute import execute
from experiments.job import Record

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PJRT_NPROC": "1",
}
"""Environment variables of a worker: there are as many processes as cores, with one thread each.

They must be set before it imports anything. PJRT_NPROC is the size of XLA's thread pool on a CPU.
"""
_LOST_WORKERS = 5
"""A job counts as failed after this many of its workers died."""
Results = Iterator[tuple[str, dict[str, Any]]]


class Scheduler(ABC):
    """Runs jobs (records by key) and yields the result of `execute` for each, as it arrives."""

    @abstractmethod
    def run(self, jobs: Mapping[str, Record], data: str) -> Results:
        """Yield keys with results, in any order.

        Args:
            jobs: records by key.
            data: the folder of the datasets.
        """


class InProcess(Scheduler):
    """Runs one job after the other in this process."""

    def run(self, jobs: Mapping[str, Record], data: str) -> Results:
        for key, record in jobs.items():
            yield key, execute(record, data)


class Dask(Scheduler):
    """Runs jobs in processes of Dask.

    A job whose worker is lost is given to another one. Results are sent to this process, the only
    one that writes the store.

    Args:
        workers: number of local processes, if there is no `address`.
        address: a running Dask scheduler whose workers are used.
        environment: environment variables of local workers, besides those for one thread.
    """

    def __init__(
        self,
        workers: int = 1,
        address: str | None = None,
        environment: Mapping[str, str] | None = None,
    ):
        self.workers, self.address = workers, address
        self.environment = ONE_THREAD | dict(environment or {})

    def run(self, jobs: Mapping[str, Record], data: str) -> Results:
        if not jobs:
            return
        from distributed import as_completed

        with self.client() as client:
            futures = {
                client.submit(execute, record, data, key=key, pure=True): key
                for key, record in jobs.items()
            }
            for future in as_completed(futures):
                key = futures.pop(future)
                error = future.exception()
                yield (
                    key,
                    future.result() if error is None else {"failed": f"its workers died: {error}"},
                )
                future.release()

    @contextlib.contextmanager
    def client(self) -> Iterator[Any]:
        """A client connected to the workers; local ones are closed at the end."""
        from dask.config import set as configured
        from distributed import Client, LocalCluster

        settings = {
            "distributed.nanny.pre-spawn-environ": self.environment,
            "distributed.scheduler.allowed-failures": _LOST_WORKERS,
            "distributed.comm.timeouts.connect": "20s",
            "distributed.worker.daemon": True,
        }
        with contextlib.ExitStack() as stack:
            stack.enter_context(configured(settings))
            if self.address is None:
                cluster = LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,  # pyright: ignore[reportArgumentType]
                    host="127.0.0.1",
                    memory_limit=None,
                    silence_logs=logging.CRITICAL,
                )
                stack.enter_context(cluster)
                yield stack.enter_context(Client(cluster))
                return
            try:
                client = Client(self.address)
            except (OSError, ValueError) as error:
                raise SchedulerError(
                    f"no Dask scheduler answers at {self.address} ({error}); "
                    "start one with dask scheduler"
                ) from None
            yield stack.enter_context(client)


def has_dask() -> bool:
    """Whether the extra `distributed` is installed."""
    return find_spec("distributed") is not None


def choose_scheduler(
    workers: int | None, address: str | None, environment: Mapping[str, str] | None = None
) -> tuple[Scheduler, str]:
    """Choose a scheduler for the options of the command line.

    Args:
        workers: number of processes; None: number of cores.
        address: a running Dask scheduler.
        environment: environment variables of local workers.

    Returns:
        The scheduler, and a hint if more cores could be used (else "").
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    wanted = (cores or 1) if workers is None else workers
    if not has_dask():
        hint = "Dask is not installed; pip install -e '.[distributed]' uses all cores"
        if address is not None:
            raise SchedulerError(f"a scheduler at {address} needs Dask; {hint.split('; ')[1]}")
        return InProcess(), hint if wanted > 1 else ""
    if address is not None or wanted > 1:
        return Dask(wanted, address, environment), ""
    return InProcess(), ""
