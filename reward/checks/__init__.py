"""Can the reward tell good answers from bad ones? Asked before a launch."""
