"""Build specs from flat, named options: estimator parameters, the command line, experiments.

Each option is declared once, as a field of a spec, and found here by its name. `layers`,
`mean_inducing` and `inference` select the model. The option `deep` is the field `join` of a `Deep`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from directgp.errors import DirectGPError, nearest
from directgp.fitting.checks import check_choice, check_count, plain_number
from directgp.fitting.specs import Decoupled, Deep, Exact, ModelSpec, Sparse, Training

EXACT = "exact"
"""The value of the option `inference` that selects an exact GP of numbers."""
_MODELS = (Sparse, Decoupled, Deep, Exact)
_FIELD_OF = {"deep": "join"}
_OPTION_OF = {field: option for option, field in _FIELD_OF.items()}
_NEEDS = {
    Sparse: "layers=1",
    Decoupled: "mean_inducing and layers=1",
    Deep: "layers=2",
    Exact: "inference='exact'",
}
"""The options that select each model."""


def _declared(spec: type) -> dict[str, Field]:
    """The fields of a spec by the names of their options."""
    return {_OPTION_OF.get(field.name, field.name): field for field in fields(spec)}


MODEL_OPTIONS = (
    *dict.fromkeys(name for spec in _MODELS for name in _declared(spec)),
    "inference",
)
"""The names of all options of models."""
TRAINING_OPTIONS = tuple(_declared(Training))
"""The names of all options of training."""


def default_of(name: str) -> Any:
    """The default value of an option.

    >>> default_of("width"), default_of("deep"), default_of("batch_size"), default_of("layers")
    (None, 'sigma-points', 1000, 1)
    """
    if name in ("layers", "inference"):
        return 1 if name == "layers" else None
    for spec in (*_MODELS, Training):
        if name in _declared(spec):
            value = _declared(spec)[name].default
            return None if value is MISSING else value
    raise DirectGPError(f"there is no option {name!r}")


def check_names(options: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown options; the message lists the known ones.

    Args:
        options: names given by the user.
        known: valid names.

    >>> check_names(["widht"], ["width", "layers"])
    Traceback (most recent call last):
    directgp.errors.DirectGPError: there is no option 'widht'; did you mean 'width'? choose ...
    """
    known = sorted(known)
    for name in options:
        if name not in known:
            hint = nearest(name, known)
            raise DirectGPError(
                f"there is no option {name!r}; {hint}{' ' * bool(hint)}choose among "
                f"{', '.join(known)}"
            )


def model_from_options(
    options: Mapping[str, Any], *, drop_irrelevant: bool = False
) -> Sparse | Decoupled | Deep | Exact:
    """The spec of a model.

    A `Deep` of several `layers`, a `Decoupled` with `mean_inducing`, an `Exact` with `inference`.

    Args:
        options: values by the names of options, some of `MODEL_OPTIONS`. An option that the model
            does not have must be absent or at its default, or is refused in one line.
        drop_irrelevant: whether to ignore such options instead, for options of several models.

    >>> model_from_options({"kernel": "rbf", "width": None})
    Sparse(mean='zero', num_inducing=None, mean_field=False, ..., kernel='rbf', ...)
    >>> model_from_options({"layers": 1, "width": 4})
    Traceback (most recent call last):
    directgp.errors.DirectGPError: width=4 has no effect on a Sparse model; give layers=2 too, ...
    """
    check_names(options, MODEL_OPTIONS)
    layers, mean_inducing = options.get("layers", 1), options.get("mean_inducing")
    check_count("layers", layers)
    kind = Deep if layers > 1 else Decoupled if mean_inducing else Sparse
    if options.get("inference") is not None:
        check_choice("inference", options["inference"], (EXACT,))
        kind = Exact
    declared = _declared(kind)
    chosen = {}
    for name, value in options.items():
        if name in declared:
            if value is not None or _accepts_none(declared[name]):
                chosen[declared[name].name] = value
        elif name in _SELECT and kind is not Exact:
            continue
        elif name != "inference" and not drop_irrelevant and not _is_default(name, value):
            raise DirectGPError(_no_effect(name, value, kind))
    if drop_irrelevant:
        chosen = _without_dependent(kind, chosen)
    return kind(**chosen)


_SELECT = ("layers", "inference")
"""Options that select a model and are not fields of it."""


def trained_model_from_options(options: Mapping[str, Any]) -> ModelSpec:
    """`model_from_options` for models trained by gradient steps only.

    Args:
        options: values by the names of options; an exact GP is refused in one line.

    >>> trained_model_from_options({"inference": "exact"})
    Traceback (most recent call last):
    directgp.errors.DirectGPError: inference='exact' needs all rows at once; leave it out here
    """
    model = model_from_options(options)
    if isinstance(model, Exact):
        raise DirectGPError(f"inference={EXACT!r} needs all rows at once; leave it out here")
    return model


def _accepts_none(field: Field) -> bool:
    """Whether None is a valid value; for other fields it means the default."""
    return field.default is None


def _without_dependent(kind: type, chosen: dict[str, Any]) -> dict[str, Any]:
    """Drop options that have no effect with the others: network widths, quadrature rules."""
    idle = set()
    if chosen.get("features") is None:
        idle.add("feature_widths")
    if kind is Deep:
        samples = chosen.get("join", Deep.join) != Deep.join
        idle |= {"quadrature", "starts"} if samples else {"predict_samples"}
    return {name: value for name, value in chosen.items() if name not in idle}


FIT_OPTIONS = {"divergence": "kl", "expectation": None, "hyperparameters": "joint"}
"""Arguments of `fit` with the same name in all interfaces, and their defaults."""


def given_fit_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `FIT_OPTIONS` that are not at their defaults.

    >>> given_fit_options({"divergence": "kl", "expectation": "monte-carlo:samples=5"})
    {'expectation': 'monte-carlo:samples=5'}
    """
    return {
        name: options[name]
        for name, usual in FIT_OPTIONS.items()
        if name in options and not (options[name] is usual or _same_text(options[name], usual))
    }


def _same_text(value: Any, usual: Any) -> bool:
    return isinstance(value, str) and value == usual


def training_from_options(options: Mapping[str, Any]) -> Training:
    """The `Training` with these options, a subset of `TRAINING_OPTIONS`."""
    check_names(options, TRAINING_OPTIONS)
    return Training(**options)


def specs_from_options(
    options: Mapping[str, Any],
    others: Iterable[str] | None = None,
    *,
    drop_irrelevant: bool = False,
) -> dict[str, Any]:
    """Arguments of `fit` from flat options: `model`, `training`, and `others` unchanged.

    Args:
        options: values by the names of options.
        others: names of arguments that are not options of a spec; None: any.
        drop_irrelevant: see `model_from_options`.

    >>> given = specs_from_options({"num_inducing": 9, "max_steps": 5, "beta": 1.0}, ["beta"])
    >>> given["model"].num_inducing, given["training"].max_steps, given["beta"]
    (9, 5, 1.0)
    """
    specs = {*MODEL_OPTIONS, *TRAINING_OPTIONS}
    if others is not None:
        check_names(options, (*specs, *others))
    model = {name: value for name, value in options.items() if name in MODEL_OPTIONS}
    training = {name: value for name, value in options.items() if name in TRAINING_OPTIONS}
    return {
        "model": model_from_options(model, drop_irrelevant=drop_irrelevant),
        "training": training_from_options(training),
    } | {name: value for name, value in options.items() if name not in specs}


def _is_default(name: str, value: Any) -> bool:
    usual = default_of(name)
    return value is None or bool(plain_number(value) == usual) or (name, value) == _NO_EXTRA


_NO_EXTRA = ("mean_inducing", 0)


def _no_effect(name: str, value: Any, kind: type[ModelSpec] | type[Exact]) -> str:
    """The error message for an option that the model does not have."""
    shown = f"{name}={value!r}"
    short = len(shown) <= 60 and "\n" not in shown  # a kernel may be printed on many lines
    if kind is Exact:
        return (
            f"{shown if short else name} has no effect on an exact GP; leave it out, or "
            "inference='exact'"
        )
    owner = next(spec for spec in _MODELS if name in _declared(spec))
    return (
        f"{shown if short else name} has no effect on a {kind.__name__} model; give "
        f"{_NEEDS[owner]} too, or leave it out"
    )
