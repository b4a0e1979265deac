"""The peers' side of the benchmarks: each library as its own users run it."""
