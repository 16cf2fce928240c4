"""The elementwise functions for type checkers, by the stub; at run time `functions` looks them up in their table."""
