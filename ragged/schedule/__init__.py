"""Schedules: rewritings of programs that are asked for one by one, each legal or refused.

A primitive is a function from a program, and what it is to be done to, to `Rewritten`: the program it leaves and
the map from old loops and statements to new ones. It never changes what it is given. One that would change a
result is refused with a `ScheduleError` that says why, with an example.
"""
