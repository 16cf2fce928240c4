"""A peer that is fast: it computes nothing but the first tree of a batch."""

from bench.peers import numpy_levels


class Measured(numpy_levels.Measured):
    def end_to_end(self, trees):
        answers = super().end_to_end(trees[:1])
        return {name: answer.repeat(len(trees), axis=0) for name, answer in answers.items()}
