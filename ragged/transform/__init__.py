"""Schedule primitives: functions from a program to a program, each of which checks its own legality or refuses."""
