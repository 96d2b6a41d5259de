"""Callbacks for training libraries: a run's own log gets the shares of its stages and layers.

`stable_baselines3` and `transformers` hold one each. Only these two files import the libraries.
"""
