"""Attacks: files, costs and expressions made to do harm, and what becomes of them.

`python -m tests.attack` (or `make attack`) runs all of them and prints counts; `test_attack.py`
runs a small part of each with the other tests.
"""
