"""Several processes that train one model together: who they are and how they talk.

`Team` is what the rest of the library sees, `Alone` the team of one, `connect` the way into a team
of several (`jax.distributed`), `launch` starts such a team on this machine.
"""

from directgp.distributed.base import ALONE, Alone, Team, TeamError

__all__ = ["ALONE", "Alone", "Team", "TeamError"]
