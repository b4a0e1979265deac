"""Your own loss: a score of the predictive mean, used for training by its direct loss."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import directgp as dg
from directgp.likelihoods import ConditionalMean, Integrand, Likelihood
from directgp.losses import Direct, Integrals, Score


def linex(error, rate):
    """exp(a e) − a e − 1: nearly linear for e < 0, exponential for e > 0 (for a > 0)."""
    return jnp.exp(rate * error) - rate * error - 1.0


class LinexError(Integrand):
    """linex(y − E[y | f])."""

    rate: float = eqx.field(static=True)

    def __call__(self, y, f):
        return linex(y - self.likelihood.conditional_mean(f), self.rate)


class Linex(Score):
    """The LINEX loss of a point forecast; with a positive rate, low forecasts cost more."""

    gibbs_needs: ClassVar = ((LinexError, "mean"),)
    direct_needs: ClassVar = ((ConditionalMean, "mean"),)
    rate: float = eqx.field(static=True, default=1.0)

    def gibbs(self, likelihood: Likelihood, integrals: Integrals):
        return integrals.mean(LinexError(likelihood, self.rate))

    def direct(self, likelihood: Likelihood, integrals: Integrals):
        return linex(integrals.y - integrals.mean(ConditionalMean(likelihood)), self.rate)


def main(steps: int = 400) -> dict[str, float]:
    """Train for LINEX and for the square loss; return the mean LINEX loss of each."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (600, 1))
    y = np.sin(X[:, 0]) + 0.5 * rng.standard_normal(600)
    train, test = slice(0, 400), slice(400, 600)
    results = {}
    for name, loss in {"linex": Direct(Linex(3.0)), "square": "direct-square"}.items():
        training = dg.Training(max_steps=steps)
        fitted = dg.fit(X[train], y[train], loss=loss, beta=0.01, training=training)
        results[name] = float(linex(y[test] - fitted.predict(X[test]).mean, 3.0).mean())
        print(f"trained for {name:7s} mean LINEX loss {results[name]:.3f}")
    return results


if __name__ == "__main__":
    main()
