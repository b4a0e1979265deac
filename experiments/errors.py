"""Errors that a user can fix, shown as one line with exit code 2."""

from directgp.cli.errors import UserError


class SpecError(UserError):
    """A spec that cannot be read, or an unknown name of one."""


class StoreError(UserError):
    """A file that is not a store of results and cannot be used as one."""


class DataError(UserError):
    """A missing dataset or target."""


class SchedulerError(UserError):
    """A Dask scheduler that cannot be used."""
