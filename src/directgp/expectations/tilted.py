"""Exact draws from the tilted density q̃(f) ∝ q(f) p(y | f), for a whole batch.

Two rejection samplers, both exact:

* `EnvelopeSampler` proposes from an envelope fitted to each row (see `envelopes`); about 95 % of
  the proposals are accepted, also for y that are improbable under q.
* `WideSampler` is that of the paper (`dlm-supp` section 1): proposals N(μ, n v) with the largest
  integer n ≤ 10 for which the bound by max_f p(y | f) holds.

For a mixture q = Σ_s w_s q_s the component is part of the proposal, so accepted pairs (s, f) are
draws from w_s q_s(f) p(y | f).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from directgp.errors import DirectGPError
from directgp.expectations.envelopes import envelope_of, log_likelihood
from directgp.expectations.pieces import Envelope, cumulative_mass, locate
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.normal import log_normal
from directgp.marginals import Marginals

_MOST_ROUNDS = 2000
_PROPOSALS = 3  # for each draw that is still missing after the first round
_FEW = 12


class TiltedDraws(NamedTuple):
    """L exact draws per row with their mixture components.

    `acceptance` is the share of first proposals that were accepted.
    """

    f: Float[Array, "L N"]
    component: Int[Array, "L N"]
    acceptance: Float[Array, ""]


class TiltedSampler(eqx.Module):
    """Base class of samplers of q(f) p(y | f) / E_q[p(y | f)]."""

    def draw(
        self,
        likelihood: Likelihood,
        y: Float[Array, "N"],
        marginals: Marginals,
        samples: int,
        key: PRNGKeyArray,
    ) -> TiltedDraws:
        """Independent exact draws for every row.

        Args:
            likelihood: p(y | f).
            y: the observations.
            marginals: q(f).
            samples: draws of each row.
            key: of the random numbers.
        """
        return self._draw(likelihood, y, marginals, samples, key)

    @abstractmethod
    def _draw(self, likelihood, y, marginals, samples, key) -> TiltedDraws:
        """The draws of `draw`, whose arguments have been checked."""


class EnvelopeSampler(TiltedSampler):
    """Proposals from a piecewise exponential envelope of q(f) p(y | f), fitted to each row."""

    def _draw(self, likelihood, y, marginals, samples, key):
        mean, variance = _one_latent(marginals)
        envelope = envelope_of(likelihood, y, mean, variance)
        propose = _envelope_proposals(likelihood, y, marginals, envelope)
        draws, missing = _accept_reject(propose, samples, len(y), key, _MOST_ROUNDS)
        return draws._replace(f=jnp.where(missing, jnp.nan, draws.f))


class WideSampler(TiltedSampler):
    """The paper's proposals N(μ, n v), n ≤ `widest` (`dlm-supp` section 1).

    The acceptance rate is tiny if q and p(y | f) hardly overlap. Draws that are missing after
    `rounds` rounds (of 3 proposals each) are made by `EnvelopeSampler`, which is exact too.
    """

    widest: int = eqx.field(static=True, default=10)
    rounds: int = eqx.field(static=True, default=100)

    def _draw(self, likelihood, y, marginals, samples, key):
        _one_latent(marginals)
        first_key, last_key = jax.random.split(key)
        propose = _wide_proposals(likelihood, y, marginals, self.widest)
        draws, missing = _accept_reject(propose, samples, len(y), first_key, self.rounds)

        def complete() -> TiltedDraws:
            exact = EnvelopeSampler().draw(likelihood, y, marginals, samples, last_key)
            return TiltedDraws(
                jnp.where(missing, exact.f, draws.f),
                jnp.where(missing, exact.component, draws.component),
                draws.acceptance,
            )

        return lax.cond(jnp.any(missing), complete, lambda: draws)


def _one_latent(marginals: Marginals) -> tuple[Array, Array]:
    latents = marginals.mean.shape[-1]
    if latents != 1:
        raise DirectGPError(
            f"product sampling draws one latent value, got {latents}; "
            "use MonteCarlo(samples) for likelihoods with several"
        )
    return marginals.mean[..., 0], marginals.variance[..., 0]


class _Proposal(NamedTuple):
    """Candidates, the component each belongs to, and whether they are accepted."""

    f: Array
    component: Array
    accepted: Array


_Propose = Callable[[PRNGKeyArray, tuple[int, ...], Array | None], _Proposal]
"""(key, shape, rows) → candidates of this shape for the given rows (None: for all, axis −1)."""


def _of_rows(values: Float[Array, "*B N"], rows: Array | None) -> Array:
    return values if rows is None else values[..., rows]


def _choose(options: Float[Array, "K B"], index: Array) -> Array:
    """options[index] elementwise; for few options selections are cheaper than a gather."""
    if options.shape[0] == 1:
        return jnp.broadcast_to(options[0], index.shape)
    if options.shape[0] <= _FEW:
        chosen = options[0]
        for k in range(1, options.shape[0]):
            chosen = jnp.where(index == k, options[k], chosen)
        return chosen
    width = options.shape[-1]
    return options.reshape(-1)[index * width + jnp.arange(width)]


def _envelope_proposals(
    likelihood: Likelihood, y: Array, marginals: Marginals, envelope: Envelope
) -> _Propose:
    """Component and piece by the masses of the envelope, then f by the inverse cdf of the piece."""
    mean, variance = _one_latent(marginals)
    components = len(mean)
    log_mass = envelope.log_mass + marginals.log_weights[:, None]
    # The normaliser of q is part of the envelope, so that it is not computed for every draw.
    scaled = envelope._replace(log_top=envelope.log_top - log_normal(mean, mean, variance))
    # All pieces of all components along one axis in front of the rows: [K·S N].
    parts, log_mass = jax.tree.map(lambda part: part.reshape(-1, len(y)), (scaled, log_mass))
    cumulative, total = cumulative_mass(log_mass)
    before = jnp.concatenate([jnp.zeros_like(cumulative[:1]), cumulative[:-1]])
    # Without the barrier XLA recomputes the pieces of a row for every draw.
    parts, cumulative, before, total = lax.optimization_barrier((parts, cumulative, before, total))

    def propose(key: PRNGKeyArray, shape: tuple[int, ...], rows: Array | None) -> _Proposal:
        uniforms = jax.random.uniform(key, (2, *shape), mean.dtype)
        target = uniforms[0] * _of_rows(total, rows)
        reached = _of_rows(cumulative, rows)
        index = jnp.sum(reached[:-1, None] <= target, axis=0, dtype=jnp.int32)
        start = _choose(_of_rows(before, rows), index)
        fraction = jnp.clip((target - start) / (_choose(reached, index) - start), 0.0, 1.0)
        piece = Envelope(*(_choose(_of_rows(part, rows), index) for part in parts))
        f, height = locate(piece, fraction)
        component = index % components
        offset = f - _choose(_of_rows(mean, rows), component)
        log_q = -0.5 * offset**2 / _choose(_of_rows(variance, rows), component)
        log_tilted = log_q + log_likelihood(likelihood, _of_rows(y, rows))(f)
        accepted = jnp.log(uniforms[1]) <= log_tilted - height
        # The far end of an infinite piece is f = ±inf: not a draw.
        return _Proposal(f, component, accepted & jnp.isfinite(f))

    return propose


def _wide_proposals(
    likelihood: Likelihood, y: Array, marginals: Marginals, widest: int
) -> _Propose:
    """Component by its weight, then N(μ, n v), accepted with q(f) p(y|f) / (N(f|μ, n v) p_max).

    The two densities cross at μ ± r, r = √(v log n / (1 − 1/n)). Between these points the bound
    holds if the maximum of p(y | f) over [μ − r, μ + r] is at most p_max / √n; outside it always
    holds.
    """
    mean, variance = _one_latent(marginals)
    log_prob = log_likelihood(likelihood, y)
    peak, log_max = likelihood.mode(y)[..., 0], likelihood.log_max(y)
    multiples = jnp.arange(2, widest + 1, dtype=mean.dtype)[:, None, None]
    radius = jnp.sqrt(variance * jnp.log(multiples) / (1.0 - 1.0 / multiples))
    highest = log_prob(jnp.clip(peak, mean - radius, mean + radius))
    allowed = highest + 0.5 * jnp.log(multiples) <= log_max
    multiple = jnp.max(jnp.where(allowed, multiples, 1.0), axis=0, initial=1.0)
    cumulative, total = cumulative_mass(marginals.log_weights)

    def propose(key: PRNGKeyArray, shape: tuple[int, ...], rows: Array | None) -> _Proposal:
        normal_key, uniform_key = jax.random.split(key)
        noise = jax.random.normal(normal_key, shape, mean.dtype)
        uniforms = jax.random.uniform(uniform_key, (2, *shape), mean.dtype)
        component = jnp.searchsorted(cumulative, uniforms[0] * total, side="right")
        component = jnp.minimum(component, len(cumulative) - 1).astype(jnp.int32)
        n = _choose(_of_rows(multiple, rows), component)
        spread = jnp.sqrt(n * _choose(_of_rows(variance, rows), component))
        f = _choose(_of_rows(mean, rows), component) + spread * noise
        log_ratio = 0.5 * jnp.log(n) - 0.5 * (n - 1.0) * noise**2
        log_prob = log_likelihood(likelihood, _of_rows(y, rows))(f)
        log_accept = log_ratio + log_prob - _of_rows(log_max, rows)
        return _Proposal(f, component, jnp.log(uniforms[1]) <= log_accept)

    return propose


def _accept_reject(
    propose: _Propose, samples: int, num_rows: int, key: PRNGKeyArray, most_rounds: int
) -> tuple[TiltedDraws, Array]:
    """Propose until every draw is accepted, in at most `most_rounds` further rounds.

    The first round proposes once for every draw. Later rounds make a few proposals for each of some
    missing draws.

    Returns:
        The draws, and which of them are missing.
    """
    total = samples * num_rows
    gathered = max(total // 16, min(total, 64))
    first = propose(jax.random.fold_in(key, 0), (samples, num_rows), None)
    first = jax.tree.map(lambda part: part.reshape(total), first)

    def unfinished(state):
        count, draws = state
        return (count <= most_rounds) & ~jnp.all(draws.accepted)

    def another_round(state):
        count, draws = state
        (missing,) = jnp.nonzero(~draws.accepted, size=gathered, fill_value=total)
        more = propose(jax.random.fold_in(key, count), (_PROPOSALS, gathered), missing % num_rows)
        earliest = jnp.argmax(more.accepted, axis=0)
        chosen = jax.tree.map(
            lambda part: jnp.take_along_axis(part, earliest[None], axis=0)[0], more
        )
        target = jnp.where(chosen.accepted, missing, total)
        draws = jax.tree.map(lambda old, new: old.at[target].set(new, mode="drop"), draws, chosen)
        return count + 1, draws

    _, draws = lax.while_loop(unfinished, another_round, (1, first))
    shape = (samples, num_rows)
    found = TiltedDraws(
        draws.f.reshape(shape), draws.component.reshape(shape), jnp.mean(first.accepted)
    )
    return found, ~draws.accepted.reshape(shape)
