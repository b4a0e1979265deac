"""Errors that a user can fix; the command line shows one line and exits with code 2."""

from directgp.cli.errors import UserError


class SpecError(UserError):
    """A spec that cannot be read, or a name that no spec has."""


class StoreError(UserError):
    """A file that is not a store of results, or cannot become one."""


class DataError(UserError):
    """A dataset or target that is not there."""


class SchedulerError(UserError):
    """A Dask scheduler that cannot be used."""
