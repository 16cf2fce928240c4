"""Analyses of programs: accesses and their regions, dependences, contractions, parallel regions, buffers."""
