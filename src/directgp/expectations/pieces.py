"""An upper bound of a density made of exponential pieces: its masses and their inverse cdf."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


class Envelope(NamedTuple):
    """K exponential pieces over f for each component and row: arrays [K S N].

    A piece is exp(log_top + slope·(f − top)). It falls from `top` to the right (slope < 0) or to
    the left (slope > 0), down to 1 + fall times its height; fall = −1 for an infinite piece.
    """

    top: Float[Array, "K *B"]
    slope: Float[Array, "K *B"]
    fall: Float[Array, "K *B"]
    log_top: Float[Array, "K *B"]

    @property
    def log_mass(self) -> Float[Array, "K *B"]:
        """Log of the integral of each piece."""
        return self.log_top + jnp.log(-self.fall / jnp.abs(self.slope))


def locate(piece: Envelope, fraction: Float[Array, "*B"]) -> tuple[Array, Array]:
    """(f, log envelope at f) where `fraction` of a piece's mass lies between its top and f.

    Args:
        piece: one piece for each element of `fraction`.
        fraction: between 0 and 1.
    """
    drop = jnp.log1p(fraction * piece.fall)
    return piece.top + drop / piece.slope, piece.log_top + drop


def running_sum(values: Float[Array, "K *B"]) -> Float[Array, "K *B"]:
    """Sums along the first axis; XLA's own cumulative sum is slower on a CPU."""

    def step(total: Array, part: Array) -> tuple[Array, Array]:
        return total + part, total + part

    return lax.scan(step, jnp.zeros_like(values[0]), values)[1]


def cumulative_mass(log_mass: Float[Array, "K *B"]) -> tuple[Array, Array]:
    """Running sums of the masses along the first axis, and the total; the largest mass is 1."""
    masses = jnp.exp(log_mass - jnp.max(log_mass, axis=0))
    cumulative = running_sum(masses)
    return cumulative, cumulative[-1]
