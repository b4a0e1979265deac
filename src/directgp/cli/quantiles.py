"""Parsing of the quantile levels given on the command line."""

import math

from directgp.cli.errors import UserError


def levels_of(text: str) -> list[float]:
    """Quantile levels from the command line.

    >>> levels_of("0.05, 0.5,0.95")
    [0.05, 0.5, 0.95]
    """
    levels = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        try:
            level = float(part)
        except ValueError:
            level = math.nan
        if not 0 < level < 1:
            raise UserError(f"--quantiles must be numbers between 0 and 1, got {part!r}")
        levels.append(level)
    return sorted(set(levels))
