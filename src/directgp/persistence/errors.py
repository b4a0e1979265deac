"""Errors of saving and loading model files."""

from directgp.errors import DirectGPError


class NotSavable(DirectGPError):
    """Part of the model has a class that cannot be written to a file."""


class ModelFileError(DirectGPError):
    """A file that cannot be read as a model; the subclasses say why."""


class NoModelFile(ModelFileError, FileNotFoundError):
    """There is no such file; also a `FileNotFoundError`."""


class ForeignFile(ModelFileError):
    """A file of another kind."""


class DamagedModelFile(ModelFileError):
    """A model file that was truncated or altered since it was written."""


class NewerModelFile(ModelFileError):
    """A model file of a newer directgp."""


_LONGEST = 200


def one_line(error: BaseException) -> str:
    """An error message as one printable line of limited length; it may quote a file."""
    text = " ".join(str(error).split())
    text = "".join(c if c.isprintable() else "?" for c in text) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} [..]"
