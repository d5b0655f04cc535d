"""Hunt for forged certificates that `verify` believes.

`python -m benchmarks.forged_certificates [seconds] [seed]` trains learners on random rows, changes their certificates
in every way that a forger may try, lets the checker recompute all claims, and compares what `verify` accepts with an
independent replay in fractions. The test run tries a small sample.
"""

import sys

from tests.certificates.forger import main

if __name__ == "__main__":
    seconds, seed = [*map(int, sys.argv[1:3]), *(60, 0)[len(sys.argv) - 1 :]]
    sys.exit(main(seconds, seed) > 0)
