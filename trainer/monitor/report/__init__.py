"""``report.html``: one self-contained page for a run, or for several side by side."""
