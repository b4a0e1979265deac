"""The tests. A package by this file, so that no installed package of the same name goes before."""
