"""Copy the states of CartPole on the device: a step that computes nothing, which no step that moves them can beat.

python copy_bandwidth.py --environments 67108864 --seconds 0.3 --repetitions 5 --device cuda --output rows
"""
