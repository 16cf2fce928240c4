"""Calling compiled programs: arguments, memory and errors of a call. The compiler is not needed here."""
