"""A machine with no package index: wheels are collected where there is one, and set-up installs from them.

``make`` is ``./train.sh wheelhouse DIR``; ``verify`` is what ``trainer/setup/wheelhouse.sh`` calls for
``--wheelhouse DIR``.
Neither machine has the kit's environment yet: the standard library and pip (with the `packaging` inside it) must do.
"""
