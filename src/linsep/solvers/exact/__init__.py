"""Exact arithmetic on floats: integers, dependencies, linear systems.

python-flint is faster on small systems (kernel of 401 rows of 400 doubles: 3.6 s to 7.2 s, 37 MB to 157 MB; of 101 rows
of 100 small integers: 0.01 s to 0.1 s), but a call cannot be interrupted: one `solve` of 800 doubles took 87 s, one
inverse of 3,000 rows modulo a prime 124 s, and a deadline has to end the search before. Cut into pieces, that is lifted
digit by digit from an inverse modulo a prime, it is as fast as this package (13.7 s to 15.1 s), with as much code.
"""
