"""Training: how the objective is minimised, and how β is chosen.

loop, chunk        the training loop, and its compiled chunks of Adam steps
schedule           the learning rate of every step; learning_rates: faster and slower parts
initialise         inducing inputs, length-scales and noise to start from
select_beta        the choice of β on held-out rows; beta_ranking compares candidates
resumable          a fit as stages with checkpoints; checkpoint, folder_lock: their files
budget             the number of steps that a time budget allows
evaluate           losses and predictions in blocks of rows
precision          whether float32 is exact enough for a model and its rows
padding            tables of similar size share one compiled program
feed, shard_feed   rows from outside memory, and from several processes
compiling          how much XLA optimises; progress: the progress bar
"""

from directgp.training.loop import GP, Settings, Trained, TrainingWarning, run
from directgp.training.select_beta import beta_grid, select_beta

__all__ = ["GP", "Settings", "Trained", "TrainingWarning", "beta_grid", "run", "select_beta"]
