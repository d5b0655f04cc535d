"""Hunt for forged model files that hang, take much memory or misbehave.

`python -m benchmarks.forged_models [seconds] [seed]` changes files of all learners, maps and formats at random, with
the right checksums. Each file is loaded and used in a process of its own with a limit on memory and time. Whatever
goes wrong is printed. The test run tries a small sample.
"""

import sys

from tests.models.forger import main

if __name__ == "__main__":
    seconds, seed = [*map(int, sys.argv[1:3]), *(60, 0)[len(sys.argv) - 1 :]]
    sys.exit(main(seed, seconds) > 0)
