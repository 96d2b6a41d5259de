"""Does the choice of the simulator decide where training time goes?"""
