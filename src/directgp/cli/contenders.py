"""The models that ``directgp compare`` compares, one entry each."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from directgp.cli.console import Terminal
from directgp.cli.read_rows import TrainingTable
from directgp.cli.training import Options, Parts, train
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.flat_options import default_of
from directgp.registry import Registry


class Contender(NamedTuple):
    """One model of the comparison: title, description, and its options made from the user's."""

    title: str
    about: str
    adapt: Callable[[Options], Options]

    def fit(
        self,
        training_table: TrainingTable,
        options: Options,
        terminal: Terminal,
        parts: Parts,
        checkpoint: Path,
    ) -> Fitted:
        """Train it on the training rows."""
        return train(
            training_table, self.adapt(options), terminal, parts=parts, checkpoint=checkpoint
        )


contenders = Registry("model")
"""Factories of contenders. One line adds a model:
``contenders.register("wide")(lambda: Contender("wide GP", "…", adapt))``."""


def _with(
    loss: str, beta: float | Literal["auto"], layers: int = 1
) -> Callable[[Options], Options]:
    return lambda options: replace(options, loss=loss, beta=beta, layers=layers)


def _as_fit_does(options: Options) -> Options:
    """Without the options of a single GP, each of which would train one in place of a stack."""
    unset = {name: default_of(name) for name in ("kernel", "num_inducing", "epochs", "max_steps")}
    return replace(options, loss="direct-log", beta="auto", layers="auto", **unset)


contenders.register("stack")(
    lambda: Contender(
        "stack",
        "the default of `directgp fit`: a calibrated mixture of exact GPs and boosted trees",
        _as_fit_does,
    )
)
contenders.register("elbo")(
    lambda: Contender(
        "ELBO", "variational inference, β = 1, as in most libraries", _with("elbo", 1.0)
    )
)
contenders.register("beta-elbo")(
    lambda: Contender("β-ELBO", "the same with β chosen on held-out rows", _with("elbo", "auto"))
)
contenders.register("direct")(
    lambda: Contender(
        "direct loss",
        "trained for the log loss of the predictive distribution, β chosen",
        _with("direct-log", "auto"),
    )
)

contenders.register("deep")(
    lambda: Contender(
        "deep",
        "two layers (a deep sigma point process), trained for the same log loss",
        _with("direct-log", "auto", layers=2),
    )
)
