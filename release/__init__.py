"""Builds what a release consists of, for all platforms: archives, npm packages and wheels. See docs/packages.md."""
