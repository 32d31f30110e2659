"""What phrases of prose around an answer mean: rewordings, refusals, closing offers."""
