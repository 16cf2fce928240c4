"""The scalar expressions that users write: operators and typing rules that all front ends share."""
