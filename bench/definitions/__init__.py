"""The workloads by the names of the design's performance page: sizes, inputs, NumPy models, peers, limits."""
