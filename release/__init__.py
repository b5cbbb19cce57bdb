"""Builds the packages of a release: libraries, programs, npm packages and wheels for each platform. See docs/packages.md."""
