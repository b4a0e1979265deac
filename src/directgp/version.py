"""The version, where a module deep inside can read it without importing the whole package."""

__version__ = "0.1.0"
