"""Where does the time of language-model RL go, and what do overlapping and asynchronous samples bring?"""
