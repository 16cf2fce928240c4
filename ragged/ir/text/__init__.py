"""The text of programs: what `ragged.ir.printer` writes and `ragged.ir.parser` reads.

Printing and parsing of one kind of thing stand side by side: `expr_out` and `expr_in`, `decl_out` and
`decl_in`, `stmt_out` and `stmt_in`. The grammar is Python's, so that `ast` reads it.
"""
