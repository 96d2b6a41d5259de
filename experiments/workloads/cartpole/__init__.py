"""This package runs many CartPoles at once, with a policy that acts in them, in several ways that do the same."""
