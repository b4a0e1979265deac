"""A model so small that the loop around it is all there is to test: y ≈ X w."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.objective import Batch, Parts
from directgp.training.loop import GP


def ridge_objective(model, likelihood, batch, *, beta, num_data, key):
    """Ridge regression: (N / |batch|) Σ weight (y − x·w)² + β |w|²."""
    errors = batch.weight * (batch.y - batch.X @ model) ** 2
    risk, penalty = num_data * jnp.mean(errors), beta * jnp.sum(model**2)
    return risk + penalty, Parts(risk, penalty)


@pytest.fixture
def ridge() -> SimpleNamespace:
    """Rows, held-out rows, a start, the objective, and the validation loss of ridge regression."""
    rng = np.random.default_rng(1)
    X, X_new = rng.normal(size=(40, 5)), rng.normal(size=(200, 5))
    truth = np.array([1.0, -0.5, 0.0, 0.0, 0.0])
    y, y_new = X @ truth + rng.normal(size=40), X_new @ truth + rng.normal(size=200)

    def row_losses(gp: GP) -> np.ndarray:
        return (y_new - X_new @ np.asarray(gp.model)) ** 2

    def validation(gp: GP) -> float:
        return float(np.mean(row_losses(gp)))

    def solution(beta: float) -> np.ndarray:
        return np.linalg.solve(X.T @ X + beta * np.eye(5), X.T @ y)

    return SimpleNamespace(
        gp=GP(jnp.zeros(5), None),
        data=Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(40)),
        objective=ridge_objective,
        validation=validation,
        row_losses=row_losses,
        solution=solution,
    )
