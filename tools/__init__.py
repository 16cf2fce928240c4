"""Commands for work on the repository."""
