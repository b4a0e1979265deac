"""Description of a model and its training, as `inspect` and reports show it in a table."""

from collections.abc import Mapping
from typing import Any

from directgp.calibration import Calibration
from directgp.decisions.cost_file import describe_cost
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.fitted_exact_regression import FittedExactRegression, loss_in_words
from directgp.fitting.stacking import Stack


def describe_model(fitted: Fitted, facts: Mapping[str, Any]) -> dict[str, str]:
    """Loss and structure of a model.

    Args:
        fitted: the model.
        facts: the options it was trained with.

    Returns:
        Descriptions by name.
    """
    loss = describe_cost(facts["cost"]) if facts.get("cost") else facts["loss"] + _robust(facts)
    if isinstance(fitted, FittedExact):
        return {"loss": loss, **_of_exact(fitted, facts)}
    if isinstance(fitted, FittedExactRegression):
        return {"loss": loss, **_of_exact_regression(fitted)}
    return {
        "loss": loss,
        **(_of_stack(fitted) if isinstance(fitted, Stack) else _of_gp(fitted, facts)),
    }


def _of_stack(fitted: Stack) -> dict[str, str]:
    """The members with their weights."""
    logs = {"target": "modelled on the log scale, predicted in its own units"}
    return {
        **(logs if fitted.learned_target == "log y" else {}),
        "model": "a mixture of " + ", ".join(f"{n} ({w:.0%})" for n, w in fitted.shares.items()),
        "weights": f"minimise the {fitted.loss} loss of out-of-fold predictions",
        "training": f"{fitted.seconds:.1f} s",
    }


def _of_exact_regression(fitted: FittedExactRegression) -> dict[str, str]:
    """Objective, kernel, evidence and leave-one-out coverage of an exact GP."""
    share, error = fitted.left_out.scores()["coverage"]
    return {
        "model": f"exact GP, hyperparameters by {loss_in_words(fitted.loss)}",
        "kernel": fitted.kernel.label,
        "log evidence": f"{fitted.log_evidence:.4g}",
        "leave-one-out": f"90 % intervals contain {share:.0%} ± {2 * error:.0%} of the rows",
        "training": f"{fitted.seconds:.1f} s",
    }


def _of_exact(fitted: FittedExact, facts: Mapping[str, Any]) -> dict[str, str]:
    """Inference, kernel and the test rows of loss-EM."""
    rows, support = fitted.exact.rows.shape
    record, calibrated = fitted.calibration, {}
    if record is not None:
        where = facts.get("test_inputs") or "the training rows"
        weighted = f", weighted by {facts['test_weight']}" if facts.get("test_weight") else ""
        calibrated["calibrated on"] = (
            f"{len(record.decisions):,} rows of {where}{weighted}, in {record.rounds:.0f} rounds"
        )
    return {
        "inference": fitted.inference + ("" if fitted.converged else " (not converged)"),
        **calibrated,
        "likelihood": facts["likelihood"],
        "kernel": facts["kernel"],
        "support": "all rows" if support == rows else f"{support:,} inducing points",
        "log evidence": f"{fitted.log_evidence:.4g}",
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
    """Layers and neural network of one GP."""
    network = f", on features of a network ({facts['features']})" if facts.get("features") else ""
    if count == 1:
        return f"1{network}"
    return f"{count}, joined by {facts.get('deep', 'sigma-points').replace('-', ' ')}{network}"


def describe_calibration(calibration: Calibration | None) -> dict[str, str]:
    """The number of calibration rows and groups; empty without a calibration."""
    if calibration is None:
        return {}
    rows = sum(calibration.rows.values())
    groups = f" in {len(calibration.groups)} groups by {calibration.column}"
    return {"calibrated": f"on {rows:,} rows{groups if calibration.by_group else ''}"}
