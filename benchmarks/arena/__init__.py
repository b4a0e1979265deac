"""The arena: default estimators beside their peers on real tables, as a user would meet them."""
