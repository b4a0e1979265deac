"""Which tests `make test-fast` leaves out: those of files that take seconds to train or compile.

Chosen by measured processor time: a file is heavy from 3 s on (``pytest --durations=0`` shows the
times of its tests). Add a file here when it becomes slow; `test_tiers.py` says when one is gone.
"""

import re

HEAVY = (
    "attack/test_attack.py",
    "attack/test_targets.py",
    "benchmarks/test_arena.py",
    "benchmarks/test_sampling_claims.py",
    "cli/test_checkpoints.py",
    "cli/test_commands.py",
    "cli/test_decide.py",
    "cli/test_fuzz.py",
    "collapsed/test_objectives.py",
    "decisions/test_exact_inference.py",
    "decisions/test_training.py",
    "distributed/test_jax_team.py",
    "estimators/test_base.py",
    "estimators/test_checks.py",
    "estimators/test_default.py",
    "estimators/test_exact_inference.py",
    "exact/test_checked_regression.py",
    "exact/test_exact.py",
    "exact/test_linearised_loss_em.py",
    "exact/test_loss_em.py",
    "expectations/test_product_sampling.py",
    "expectations/test_tilted.py",
    "experiments/test_combinations.py",
    "experiments/test_commands.py",
    "experiments/test_page.py",
    "fitting/stacking/test_class_stack.py",
    "fitting/stacking/test_log_target.py",
    "fitting/stacking/test_stack.py",
    "fitting/test_confidence.py",
    "fitting/test_default_depth.py",
    "fitting/test_fit.py",
    "fitting/test_fit_collapsed.py",
    "fitting/test_fit_deep.py",
    "fitting/test_fit_exact_regression.py",
    "fitting/test_hyperparameters.py",
    "fitting/test_prepare_outputs.py",
    "fitting/test_square_loss_variance.py",
    "kernels/test_adapters.py",
    "kernels/test_kernels.py",
    "likelihoods/test_likelihood_conformance.py",
    "likelihoods/test_vector.py",
    "linalg/moments/test_moments.py",
    "linalg/native/test_agreement.py",
    "linalg/native/test_door.py",
    "linalg/native/test_passes.py",
    "linalg/native/test_unusual_calls.py",
    "linalg/test_lean_imports.py",
    "losses/test_black_box_alpha.py",
    "losses/test_distribution_scores.py",
    "losses/test_robust.py",
    "losses/test_second_order.py",
    "models/test_deep.py",
    "models/test_sparse_gp.py",
    "persistence/test_gp_checks.py",
    "persistence/test_model_file.py",
    "persistence/test_work_bounds.py",
    "predictive/test_count_sums.py",
    "report/test_calibration_check.py",
    "theory/test_bounds.py",
    "test_docs.py",
    "test_examples.py",
    "test_imports.py",
    "test_objective.py",
)
"""Files below tests/ whose tests are marked `heavy`. Doctests that fit a model are heavy too."""


def is_heavy(path: str, examples: str = "") -> bool:
    """Whether a test is left out of the fast tier.

    Args:
        path: of its file, from the root of the repository, with slashes.
        examples: the source of a doctest, empty for other tests.
    """
    return path.removeprefix("tests/") in HEAVY or ".fit(" in examples or "fit" in _calls(examples)


def _calls(source: str) -> set[str]:
    """The first words of the functions that are called: "fit" of ``fit_outputs(X, y)``."""
    return {call.split("_")[0] for call in re.findall(r"(\w+)\(", source)}
