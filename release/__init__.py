"""Builds what a release consists of: libraries, programs, npm packages and wheels of each platform. See docs/packages.md."""
