"""Reading a response: final answers, LaTeX, code fences, languages, sentences."""
