"""Several machines: worker nodes come to the head node, are compared with it, join one Ray cluster, and end together.

The head node listens (``rendezvous.py``), the worker nodes connect (``rendezvous_client.py``). What they say to one
another before, beside and after Ray goes over a connection of its own (``wire.py``), so that nothing about it needs Ray
to be alive.
"""
