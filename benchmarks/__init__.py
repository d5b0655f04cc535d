"""Speed and memory of linsep against its peers and against its own goals: `python -m benchmarks --list`."""
