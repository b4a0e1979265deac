"""Exact classification."""
