"""Tests of the release package, with small files in place of binaries."""
