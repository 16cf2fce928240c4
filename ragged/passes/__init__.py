"""Passes over the one IR, one a file, and the pipeline that runs and verifies them."""
