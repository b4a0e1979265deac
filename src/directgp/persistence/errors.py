"""What can be wrong with a model file, or with a model that is to become one."""


class NotSavable(ValueError):
    """Something in the model is not directgp's own and cannot be written to a file."""


class ModelFileError(ValueError):
    """A file that cannot be read as a model; the subclasses say why."""


class ForeignFile(ModelFileError):
    """A file of another kind."""


class DamagedModelFile(ModelFileError):
    """A model file that was truncated or altered since it was written."""


class NewerModelFile(ModelFileError):
    """A model file of a newer directgp."""
