"""Training of one model with several processes.

`base` has the interface `Team` and its implementation for one process, `Alone`. `jax_team.connect`
joins several processes by `jax.distributed`, and `launch` starts them on this machine.
"""

from directgp.distributed.base import ALONE, Alone, Team, TeamError

__all__ = ["ALONE", "Alone", "Team", "TeamError"]
