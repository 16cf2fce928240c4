"""Schedules chosen for the user: what a machine is, and the steps that suit a program on it."""
