"""What ``./train.sh chat`` holds: plain conversations, with tools, and the episodes of an environment."""
