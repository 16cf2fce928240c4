"""Integer arithmetic on index expressions: constant folding, affine forms, and bounds of a program's variables."""
