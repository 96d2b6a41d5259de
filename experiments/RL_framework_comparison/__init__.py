"""How much of training time does the framework decide, and its execution model?"""
