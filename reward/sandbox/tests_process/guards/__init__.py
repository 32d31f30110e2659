"""What keeps a pass from being luck: libraries as strict as tests believe, and what tests gave, looped over, own."""
