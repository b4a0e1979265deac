"""The parameters that `GPRegressor` and `GPClassifier` share."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, no_type_check

from sklearn.base import BaseEstimator

from directgp.errors import WrongType, nearest

if TYPE_CHECKING:
    from directgp.decisions import Cost
    from directgp.divergences import Divergence
    from directgp.expectations import Expectation
    from directgp.kernels import Kernel
    from directgp.losses import Loss, Score


@no_type_check  # scikit-learn requires that any value can be stored; `fit` checks it
@dataclass(eq=False, repr=False, kw_only=True)
class GPParameters(BaseEstimator):
    """Constructor parameters, stored unchanged; `GPRegressor` says what each is."""

    def __new__(cls, *args: Any, **given: Any) -> "GPParameters":
        """Refuse unknown parameters with the most similar known one."""
        known = cls.parameter_names()
        for name in given:
            if name not in known:
                hint = nearest(name, known) or f"it has {', '.join(known)}"
                raise WrongType(f"{cls.__name__} has no parameter {name!r}; {hint}")
        return super().__new__(cls)

    @classmethod
    def parameter_names(cls) -> list[str]:
        """The names of the constructor's parameters, sorted."""
        return sorted(set(inspect.signature(cls.__init__).parameters) - {"self"})

    loss: "str | Score | Loss | Cost" = "log"
    objective: Literal["direct", "elbo"] = "direct"
    robust: Literal["beta", "gamma"] | None = None
    robust_power: float | None = None
    beta: float | Literal["auto", "pac-bayes"] | Sequence[float] = "auto"
    divergence: "str | Divergence | Sequence[str | Divergence]" = "kl"
    expectation: "str | Expectation | None" = None
    hyperparameters: Literal["joint", "from-elbo"] = "joint"
    num_inducing: int | None = None
    kernel: "str | Kernel" = "matern52"
    layers: int | Literal["auto"] = "auto"
    mean_inducing: int | None = None
    mean_field: bool | None = None
    own_kernels: bool = False
    width: int | None = None
    deep: Literal["sigma-points", "samples"] = "sigma-points"
    num_sites: int | None = None
    quadrature: str | None = None
    starts: int | None = None
    predict_samples: int | None = None
    skip: bool = False
    features: Literal["mlp"] | None = None
    feature_widths: Sequence[int] | None = None
    epochs: float | None = None
    max_steps: int | None = None
    batch_size: int | None = 1000
    learning_rate: float | None = None
    patience: int | None = None
    precision: Literal["auto", "float64", "mixed"] = "auto"
    tolerance: float = 1e-4
    window: int = 50
    time_budget: float | None = None
    warm_start: bool = False
    random_state: Any = None
    verbose: bool = False
