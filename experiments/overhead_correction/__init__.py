"""Does correction leave what training takes without recording?"""
