"""Two independent samplers as references: NUTS and elliptical slice sampling.

NUTS is that of numpyro (`pip install directgp[reference]`). Elliptical slice sampling (Murray,
Adams, MacKay 2010) uses the Gaussian prior instead of gradients and needs no tuning; this
implementation supports `jax.vmap` over many small problems.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.errors import MissingPackage
from directgp.exact.target import Target


def nuts(
    target: Target,
    key: PRNGKeyArray,
    *,
    num_samples: int = 2000,
    num_warmup: int = 500,
    num_chains: int = 4,
) -> Float[Array, "C J M"]:
    """Draws of v from the target by numpyro's NUTS, chains side by side.

    Args:
        target: the density.
        key: the random key.
        num_samples: draws of each chain.
        num_warmup: discarded steps of each chain.
        num_chains: independent chains.
    """
    try:
        from numpyro.infer import MCMC, NUTS
    except ImportError:
        raise MissingPackage("NUTS needs numpyro; pip install directgp[reference]") from None
    size = target.rows.shape[1]
    chains = MCMC(
        NUTS(potential_fn=target.value),
        num_warmup=num_warmup,
        num_samples=num_samples,
        num_chains=num_chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    start = jax.random.normal(jax.random.fold_in(key, 1), (num_chains, size), target.rows.dtype)
    chains.run(key, init_params=start)
    return chains.get_samples(group_by_chain=True)


def elliptical_slice(
    target: Target,
    key: PRNGKeyArray,
    *,
    num_samples: int = 2000,
    num_warmup: int = 200,
    num_chains: int = 4,
    thin: int = 5,
) -> Float[Array, "C J M"]:
    """Draws of v from the target: points on random ellipses through the current one.

    Args:
        target: log density.
        key: of the random numbers.
        num_samples: draws of each chain.
        num_warmup: steps of each chain before its first draw.
        num_chains: independent chains.
        thin: steps between two draws.
    """
    size, dtype = target.rows.shape[1], target.rows.dtype

    def log_likelihood(v):
        return 0.5 * v @ v - target.value(v)

    def step(v, key):
        other_key, level_key, angle_key, shrink_key = jax.random.split(key, 4)
        other = jax.random.normal(other_key, (size,), dtype)
        level = log_likelihood(v) + jnp.log(jax.random.uniform(level_key, (), dtype))
        angle = jax.random.uniform(angle_key, (), dtype, maxval=2.0 * jnp.pi)

        def point(angle):
            return v * jnp.cos(angle) + other * jnp.sin(angle)

        def below(state):
            return log_likelihood(point(state[0])) < level

        def shrink(state):
            angle, low, high, key = state
            low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
            key, draw = jax.random.split(key)
            return jax.random.uniform(draw, (), dtype, low, high), low, high, key

        first = (angle, angle - 2.0 * jnp.pi, angle, shrink_key)
        return point(lax.while_loop(below, shrink, first)[0])

    def thinned(v, key):
        v = lax.fori_loop(0, thin, lambda i, v: step(v, jax.random.fold_in(key, i)), v)
        return v, v

    def chain(key):
        start_key, warm_key, key = jax.random.split(key, 3)
        v = jax.random.normal(start_key, (size,), dtype)
        v, _ = lax.scan(thinned, v, jax.random.split(warm_key, num_warmup))
        return lax.scan(thinned, v, jax.random.split(key, num_samples))[1]

    return jax.vmap(chain)(jax.random.split(key, num_chains))
