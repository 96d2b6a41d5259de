"""What do many processes of self-play do with the one device that they share?"""
