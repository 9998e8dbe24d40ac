"""Episodes whose fault is planted and known, and what ``blame`` says of them.

``worlds`` makes small tasks, ``faults`` plants one fault in each, ``lay`` writes them as task
directories and teams. ``played`` holds the programs that play the roles: they read what a role
is shown and do what it says, so that what is lost on the way is lost to them.
"""
