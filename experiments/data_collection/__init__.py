"""How fast can data be collected, from a Gym loop to a fused kernel?"""
