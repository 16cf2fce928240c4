"""A peer that has one of the models alone."""

from typing import ClassVar

from bench.peers import numpy_levels
from bench.peers.job import Cell


class Measured(numpy_levels.Measured):
    lacks: ClassVar = {Cell.MV_RNN: "no matrices"}
