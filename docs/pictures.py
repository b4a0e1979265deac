"""Draws the pictures of choosing_a_loss.md and library.md: ``python docs/pictures.py``."""

import contextlib
import re
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import directgp as dg
from directgp import demo, plots

IMAGES = Path(__file__).resolve().parent / "images"
LEVEL = 0.9
OPTIONS = {
    "model": dg.Sparse(num_inducing=30),
    "training": dg.Training(max_steps=800),
    "verbose": False,
    "beta": 1.0,
}


def panels(models, x, y, at, truth, title, file) -> None:
    """One panel a model: data, its band, and the true interval as dashes."""
    figure = Figure(figsize=(4.0 * len(models), 3.4), layout="constrained")
    lower, upper = truth
    all_axes = figure.subplots(1, len(models), sharey=True)
    for axes, (name, fitted, colour) in zip(all_axes, models, strict=True):
        predictive = fitted.predict(at[:, None])
        axes.plot(x, y, ".", color="#888888", markersize=2.5, zorder=0)
        plots.band(at, predictive, levels=[LEVEL], colour=plots.COLOURS[colour], axes=axes)
        for edge in (lower, upper):
            axes.plot(at, edge, "k--", linewidth=0.9)
        width = np.mean(np.subtract(*predictive.interval(LEVEL)[::-1]))
        axes.set(title=name, ylabel="")
        axes.text(0.02, 0.03, f"mean width {width:.2f}", transform=axes.transAxes)
        axes.set_ylim(np.quantile(y, 0.002) - 0.5, np.quantile(y, 0.998) + 0.5)
    figure.suptitle(title)
    figure.savefig(IMAGES / file, dpi=80)


def spread() -> None:
    """Noise that varies with x: ELBO against direct log loss."""
    split = demo.generated(0, quick=False).splits[0]
    x, y = split.train.X[:600, 0], split.train.y[:600]
    at = np.linspace(0.0, 10.0, 200)
    models = [
        (name, dg.fit(x[:, None], y, loss=loss, **OPTIONS), colour)
        for name, loss, colour in (
            ("elbo", "elbo", "orange"),
            ("direct-log", "direct-log", "blue"),
        )
    ]
    truth = demo.truth(at).interval(LEVEL)
    panels(models, x, y, at, truth, "90 % intervals; dashed: the true ones", "loss_spread.png")


def outliers() -> None:
    """One row in twelve is far off."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 10.0, 480)
    wild = np.arange(480) % 12 == 0
    y = np.sin(1.3 * x) + np.where(wild, 3.0, 0.15) * rng.standard_normal(480)
    at = np.linspace(0.0, 10.0, 200)
    models = [
        (name, dg.fit(x[:, None], y, loss=loss, likelihood=likelihood, **OPTIONS), colour)
        for name, loss, likelihood, colour in (
            ("direct-log, Gaussian", "direct-log", "gaussian", "blue"),
            ("direct-log, Student-t", "direct-log", "student-t", "green"),
            ("direct-crps, Gaussian", "direct-crps", "gaussian", "purple"),
        )
    ]
    clean = np.sin(1.3 * at) - 1.645 * 0.15, np.sin(1.3 * at) + 1.645 * 0.15
    title = "90 % intervals; dashed: those of the rows that are not wild"
    panels(models, x, y, at, clean, title, "loss_outliers.png")


def library() -> None:
    """What the code of library.md itself draws; run as a reader would, in a folder of its own."""
    page = (Path(__file__).parent / "library.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    drawn = next(number for number, block in enumerate(blocks) if "savefig" in block)
    namespace = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks[: drawn + 1]:
            exec(block, namespace)
        (IMAGES / "library.png").write_bytes(Path("library.png").read_bytes())


if __name__ == "__main__":
    spread()
    outliers()
    library()
