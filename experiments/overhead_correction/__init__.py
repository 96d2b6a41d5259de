"""Does the corrected time equal the time without recording?"""
