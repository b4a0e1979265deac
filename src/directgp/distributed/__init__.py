"""Training of one model by several processes: membership and communication.

`Team` is what the rest of the library sees, `Alone` the team of one, `connect` the way into a team
of several (`jax.distributed`), `launch` starts such a team on this machine.
"""

from directgp.distributed.base import ALONE, Alone, Team, TeamError

__all__ = ["ALONE", "Alone", "Team", "TeamError"]
