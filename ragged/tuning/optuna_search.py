"""Optuna's tree-structured Parzen estimator as a strategy."""

from __future__ import annotations

import math

import optuna

from ragged.tuning.space import Point
from ragged.tuning.strategies import Strategy

_HOPELESS = 1e3
"""The cost of a point that is refused: Optuna learns from finite numbers."""


class OptunaSearch(Strategy):
    """Each dimension is a category: positions of values have no order that the estimator could use."""

    attempts = 4  # each is a model of all trials

    def __init__(self, extents: tuple[int, ...], seed: int = 0) -> None:
        super().__init__(extents, seed)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        self._distributions = {
            str(gene): optuna.distributions.CategoricalDistribution(range(extent))
            for gene, extent in enumerate(extents)
        }

    def _propose(self) -> Point:
        trial = self._study.ask(self._distributions)
        self._study.tell(
            trial, state=optuna.trial.TrialState.FAIL
        )  # what it costs comes as a trial of its own
        return tuple(trial.params[str(gene)] for gene in range(len(self.extents)))

    def _learn(self, point: Point, cost: float) -> None:
        params = {str(gene): place for gene, place in enumerate(point)}
        value = _HOPELESS if math.isinf(cost) else cost
        self._study.add_trial(
            optuna.trial.create_trial(params=params, distributions=self._distributions, value=value)
        )
