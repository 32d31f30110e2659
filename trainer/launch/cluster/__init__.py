"""Several machines: they meet at the head node, are compared, join one Ray cluster, and end together.

The head node leads (``meeting.py``), the others follow (``member.py``). What they say to one another before, beside and
after Ray goes over a connection of its own (``wire.py``), so that nothing about it needs Ray to be alive.
"""
