"""Builds the packages of a release: libraries, programs and npm packages for each platform. See docs/packages.md."""
