"""Does the choice of the RL algorithm decide where training time goes?"""
