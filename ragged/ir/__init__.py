"""The one IR: expressions with uninterpreted functions and facts, statements, programs; text and interpreter."""
