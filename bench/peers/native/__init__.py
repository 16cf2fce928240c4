"""The peer in C++, compiled when it is first used: what stands here is its source and what compiles it."""
