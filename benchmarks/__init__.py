"""Side-by-side benchmarks of directgp and its peers; run from the repository root."""
