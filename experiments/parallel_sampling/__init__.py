"""What do environments that wait for each other cost, and what is left when they do not?"""
