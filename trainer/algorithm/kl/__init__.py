"""The KL from the reference policy: estimates of it, and the KL itself, over the whole vocabulary."""
