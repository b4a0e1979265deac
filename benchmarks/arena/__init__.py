"""The arena: default estimators compared with other libraries on real tables."""
