"""How a model was made, in words: the rows of the table that `inspect` and reports show."""

from collections.abc import Mapping
from typing import Any

from directgp.decisions.toml import in_words
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking import Stack


def model_in_words(fitted: FittedGP | Stack, facts: Mapping[str, Any]) -> dict[str, str]:
    """The loss, and what the model is made of.

    Args:
        fitted: the model.
        facts: the options it was trained with.
    """
    loss = in_words(facts["cost"]) if facts.get("cost") else facts["loss"] + _robust(facts)
    return {
        "loss": loss,
        **(_of_stack(fitted) if isinstance(fitted, Stack) else _of_gp(fitted, facts)),
    }


def _of_stack(fitted: Stack) -> dict[str, str]:
    """The members with their weights."""
    return {
        "model": "a mixture of " + ", ".join(f"{n} ({w:.0%})" for n, w in fitted.shares.items()),
        "weights": f"chosen for the {fitted.loss} loss of rows that the members had not seen",
        "training": f"{fitted.seconds:.1f} s",
    }


def _of_gp(fitted: FittedGP, facts: Mapping[str, Any]) -> dict[str, str]:
    """β, kernel, layers and size of one GP."""
    size = fitted.gp.model.posteriors[0].mean.shape[-1]
    chosen = ", chosen on held-out rows" if fitted.beta_curve else ""
    return {
        "β": f"{fitted.beta:.4g}{chosen}",
        "likelihood": facts["likelihood"],
        "kernel": facts["kernel"],
        "layers": _layers(facts, fitted.gp.model.depth),
        "inducing points": f"{size:,}",
        "training": f"{fitted.seconds:.1f} s, {fitted.reason}",
    }


def _robust(facts: Mapping[str, Any]) -> str:
    name, power = facts.get("robust"), facts.get("robust_power")
    if name is None:
        return ""
    return f", robust ({name}{'' if power is None else f', power {power:g}'})"


def _layers(facts: Mapping[str, Any], count: int) -> str:
    """How the model is built, in words."""
    network = f", behind a network ({facts['features']})" if facts.get("features") else ""
    if count == 1:
        return f"1{network}"
    return f"{count}, joined by {facts.get('deep', 'sigma-points').replace('-', ' ')}{network}"
