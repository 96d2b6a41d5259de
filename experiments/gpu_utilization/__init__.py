"""How much of a device is in use when it is reported to be fully used?"""
