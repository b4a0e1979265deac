"""Training: how the objective is minimised, and how β is chosen.

`loop` runs compiled chunks, `schedule` sets the learning rate, `pace` what moves faster,
`initialise` where to start,
`stages` makes a fit resumable (`checkpoint`), `select_beta` races the grid, `budget` says how many
steps there is time for, `evaluate` scores and predicts in blocks, `precision` guards float32,
`progress` shows it.
"""

from directgp.training.loop import GP, Settings, Trained, TrainingWarning, run
from directgp.training.select_beta import beta_grid, select_beta

__all__ = ["GP", "Settings", "Trained", "TrainingWarning", "beta_grid", "run", "select_beta"]
