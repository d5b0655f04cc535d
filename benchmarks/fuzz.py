"""Hunt for bytes that a reader chokes on: `python -m benchmarks.fuzz FORMAT [seconds]`.

Text of lines ends at memory that may not be read, so that a byte read too many ends the run; any other broken promise
is an exception. Coverage is that of the check only: what atheris adds to a function to see its branches can't be
compiled. It needs `pip install atheris` and is for nights; the test run holds the same properties with hypothesis.
"""

import sys

import atheris

from tests.data.test_any_bytes import CELLS, FORMS, LINES, TABLES, check, check_table


def main(name: str, seconds: int) -> None:
    """Look for bytes of this format that break a promise, for so many seconds."""

    def one(data: bytes) -> None:
        source = atheris.FuzzedDataProvider(data)
        size = source.ConsumeIntInRange(1, 64)
        text = b""
        while source.remaining_bytes():
            text += source.PickValueInList(CELLS) if source.ConsumeBool() else source.ConsumeBytes(4)
        if name in LINES:
            hold(FORMS[name], text)
        else:
            hold(name, text, size)

    hold = atheris.instrument_func(check if name in LINES else check_table)
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=400"], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in (*LINES, *TABLES):
        sys.exit(f"{__doc__}\nformats: {', '.join((*LINES, *TABLES))}")
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60)
