"""Changes that can be made to a training from outside, one file each; `rlscope/trial/change.py` says what is in one."""
