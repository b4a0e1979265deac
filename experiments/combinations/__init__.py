"""All combinations of losses, likelihoods, models and divergences: which train, which are errors.

parts.py     the parts that are combined, and small problems for them
outcome.py   one combination: a few training steps, or the error
exact.py     exact inference with every likelihood
store.py     outcomes as lines of JSON, and the run that adds missing ones
reasons.py   the reason of each error: mathematics, or missing work
page.py      docs/combinations.md, written from the outcomes
"""
