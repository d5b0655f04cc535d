"""`python -m linsep` is the command `linsep`."""

from linsep.cli import main

if __name__ == "__main__":
    main()
