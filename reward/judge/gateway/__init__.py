"""The one way to the judge: cache, limits, budget, retries."""
