"""The runner does what is missing, survives being killed, and loses or doubles nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from experiments.runner import run
from experiments.scheduler import Dask, InProcess, choose_scheduler
from experiments.store import Store

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
"""For other processes: directgp and experiments, wherever they are started."""


def table(store):
    return [(run.record, run.scores, run.curve, run.method) for run in store.runs()]


def drawn(folder):
    return Counter((folder / "drawn.log").read_text().split())


def test_only_what_is_missing_is_run(toy, tmp_path):
    specs = list(toy().values())
    with Store(tmp_path / "s.sqlite") as store:
        first = run(specs, "quick", store, InProcess(), tmp_path)
        again = run(specs, "quick", store, InProcess(), tmp_path)
        more = run(specs, "full", store, InProcess(), tmp_path)
        assert (first.done, again.done, more.done) == (4, 0, 2)
        assert (first.stored, again.stored, more.stored) == (0, 4, 4)
        assert len(store) == 6 and set(drawn(tmp_path).values()) == {2}
        kept = next(store.runs(method="high", seed=2))
        assert kept.figure == "toy/dice" and kept.data == "dice" and kept.versions["directgp"]


def test_a_job_that_fails_stops_no_other_and_is_tried_again(toy, tmp_path):
    specs = list(toy(job="fails = [1]").values())
    with Store(tmp_path / "s.sqlite") as store:
        summary = run(specs, "quick", store, InProcess(), tmp_path)
        assert summary.done == 2 and len(summary.failed) == 2 and len(store.failures()) == 2
        message = summary.failed["toy/dice dice low seed=1"]
        assert message.startswith("RuntimeError: no luck at all (toy_jobs.py:")
        assert len(run(specs, "quick", store, InProcess(), tmp_path).failed) == 2


SCRIPT = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from experiments.runner import run
from experiments.scheduler import InProcess
from experiments.spec import load_specs
from experiments.store import Store
folder = Path(sys.argv[1])
for _ in sys.stdin:  # another life for every line: a process of its own that has imported all
    if life := os.fork():
        _, status = os.waitpid(life, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)
        continue
    with Store(folder / "killed.sqlite") as store:
        print("ready", os.getpid(), flush=True)
        run(list(load_specs(folder / "specs").values()), "quick", store, InProcess(), folder)
    os._exit(0)
"""


def test_killed_at_twenty_random_moments_nothing_is_lost_or_doubled(toy, tmp_path):
    specs = list(toy(job="seconds = 0.01", quick=60).values())
    with Store(tmp_path / "whole.sqlite") as store:
        run(specs, "quick", store, InProcess(), tmp_path)
        whole = table(store)
    (tmp_path / "drawn.log").unlink()
    rng = random.Random(0)
    environment = dict(os.environ, PYTHONPATH=PACKAGES)
    kills = 0
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        for life in range(21):
            process.stdin.write("live\n")
            process.stdin.flush()
            said, pid = process.stdout.readline().split()
            assert said == "ready"
            if life < 20:
                time.sleep(rng.uniform(0.0, 0.1))
                os.kill(int(pid), signal.SIGKILL)
            said, code = process.stdout.readline().split()
            assert said == "ended" and int(code) == (-signal.SIGKILL if life < 20 else 0)
            kills += life < 20
    assert kills == 20
    with Store(tmp_path / "killed.sqlite") as store:
        assert table(store) == whole and len(whole) == 120
    # A life loses at most the job it was in.
    assert sum(drawn(tmp_path).values()) <= 120 + kills


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask and its event loop
def test_a_job_whose_worker_dies_goes_to_another(toy, tmp_path):
    specs = list(toy(job="kills = [3]\nseconds = 0.05", quick=6).values())
    with Store(tmp_path / "s.sqlite") as store:
        summary = run(specs, "quick", store, Dask(workers=2), tmp_path)
        assert (tmp_path / "killed").exists()
        assert summary.done == 12 and not summary.failed and len(store) == 12
        parallel = table(store)
    with Store(tmp_path / "alone.sqlite") as store:
        run(specs, "quick", store, InProcess(), tmp_path)
        assert table(store) == parallel


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_somebody_else_started(toy, tmp_path):
    """A scheduler and two workers as a user starts them; one worker is killed on the way."""
    specs = list(toy(job="seconds = 0.05", quick=20).values())
    found = tmp_path / "scheduler.json"
    environment = dict(os.environ, PYTHONPATH=f"{PACKAGES}{os.pathsep}{tmp_path}")

    def dask(*arguments):
        command = [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(found)]
        return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)

    scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    workers = [dask("worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
    try:
        deadline = time.monotonic() + 60
        while not found.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = json.loads(found.read_text())["address"]
        with Store(tmp_path / "s.sqlite") as store:
            seen = []

            def kill_one(planned, _found):
                seen.append(planned)
                if len(seen) == 5:
                    workers[0].kill()

            far = choose_scheduler(None, address)[0]
            summary = run(specs, "quick", store, far, tmp_path, kill_one)
            assert summary.done == 40 and not summary.failed
            together = table(store)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
    with Store(tmp_path / "alone.sqlite") as store:
        run(specs, "quick", store, InProcess(), tmp_path)
        assert table(store) == together


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_workers_have_one_thread_and_do_not_share_a_process(tmp_path):
    with Dask(workers=2, environment={"TOY": "1"}).client() as client:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PJRT_NPROC", "TOY")
        seen = client.run(lambda: (os.getpid(), *(os.environ.get(name) for name in names)))
    assert len({found[0] for found in seen.values()} | {os.getpid()}) == 3
    assert {found[1:] for found in seen.values()} == {("1", "1", "1", "1")}


def test_without_dask_jobs_run_here_with_a_hint(monkeypatch):
    monkeypatch.setattr("experiments.scheduler.has_dask", lambda: False)
    scheduler, hint = choose_scheduler(2, None)
    assert isinstance(scheduler, InProcess) and "[distributed]" in hint
    assert choose_scheduler(1, None)[1] == ""
    with pytest.raises(ValueError, match="needs Dask; pip install"):
        choose_scheduler(None, "tcp://127.0.0.1:1")


def test_the_scheduler_follows_what_is_asked():
    assert isinstance(choose_scheduler(1, None)[0], InProcess)
    many = choose_scheduler(3, None)[0]
    assert isinstance(many, Dask) and many.workers == 3 and many.address is None
    far = choose_scheduler(None, "tcp://127.0.0.1:1")[0]
    assert isinstance(far, Dask) and far.address == "tcp://127.0.0.1:1"
