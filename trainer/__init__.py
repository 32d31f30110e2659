"""How verl is driven. Each package says in its first line which process it runs in.

Importing this package costs nothing: ``settings`` runs before the environment is set up.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
