"""Ready-made operators over ragged arrays, each written in the Ragged API alone and compiled once for all lengths."""
