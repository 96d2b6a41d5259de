"""CartPole for many environments at once, with a policy that acts in them: the same in every way to run it."""
