"""Which of many differences makes a gap: a noisy search over sets, as a pure state machine.

machine.py takes the runs so far and returns the next or the answer (model.py). Its stages: both
ends (ends.py); hybrids that say most (design.py) about the set that makes the gap (sets.py,
likelihood.py, levels.py, noise.py), among what can be set apart (atoms.py); fresh runs of one set,
all its settings and both directions (target.py, confirm.py). robust_fit.py and arms.py are the
means of heavy-tailed runs on boards that differ and drift.

Hybrids are not halves drawn at random with a permutation test of each item: of the same runs a
posterior over sets with all their interactions says more, and chooses the next hybrid too. What it
names is only a candidate. An answer is what fresh runs confirm, by tests that know nothing of it.
"""
