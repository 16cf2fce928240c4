"""The Ragged API: operators over ragged tensors, their schedules, and the functions that they compile to.

CoRa, section 4: dimensions have names, the extents of loops and of storage are functions of outer dimensions, and one
compiled function serves all lengths. `ragged` itself exports what users need of it.
"""
