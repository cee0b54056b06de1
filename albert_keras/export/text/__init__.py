"""Text signatures of SavedModels, one file for each kind of model.

A kind traces the graph from strings to answers, and converts the answers to predictions
of its task. `kinds` has the registry.
"""
