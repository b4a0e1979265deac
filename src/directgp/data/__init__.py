"""From the user's table to scaled arrays: checks, standardising, splitting."""

from directgp.data.checks import check_inputs, check_rows, check_weights
from directgp.data.scaling import Standardiser

__all__ = ["Standardiser", "check_inputs", "check_rows", "check_weights"]
