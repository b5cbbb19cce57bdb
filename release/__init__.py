"""Builds what a release consists of, for all platforms: binaries, archives, npm packages, wheels. See docs/packages.md."""
