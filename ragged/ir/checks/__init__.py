"""What makes a program valid, one `check_*` for each rule; `ragged.ir.verify` runs them all.

Each raises an `InternalError` that shows the program with a note under the culprit.
"""
