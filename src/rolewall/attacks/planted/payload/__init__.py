"""What the hostile executor runs: plants, and the careless commands that set them off.

Standard library only, Python 3.9 and newer; runs in a box, beside nothing of rolewall.
"""
