"""Solvers: functions on arrays that return weights with the proof of how good they are.

Arguments with one meaning in all solvers:

- data (Dense or Csr): the rows; `data.bias` is the constant feature's value, 0.0 where there is none;
- signs (float64 array, (rows,)): +1 or -1 for each row;
- row_weights (array, (rows,) or (0,)): how often each row counts, >= 0; empty where all count once;
- seed (int, default=0): seed of the order of rows;
- jobs (int, default=1): threads of the passes that prove; the solution does not depend on it;
- deadline (float, optional): the value of time.monotonic() at which to return with what is found;
- watch (callable, optional): called with (lower, upper) each time that the bracket has become narrower.
"""

from collections.abc import Callable

BracketWatch = Callable[[float, float], None]
