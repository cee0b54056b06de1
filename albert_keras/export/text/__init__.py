"""Signatures of raw text: a file for each kind of model.

A kind traces the path from strings to answers as a function of a SavedModel, and reads
the answers back as the predictions of its task. `kinds` has their registry.
"""
