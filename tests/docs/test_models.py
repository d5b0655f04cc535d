"""The table of refusals in docs/models.md says what `load` says."""

import json
import pickle
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

from linsep import ModelError, Perceptron, load, save
from linsep.models import archive
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
TABLE = dict(re.findall(r"^\| (.*?) \| `(.*)` \|$", PAGE.split("| the message |")[1].split("\n\n")[0], re.MULTILINE))


def flipped(path, where):
    """Flip a bit of the first byte of these."""
    content = bytearray(path.read_bytes())
    content[content.index(where)] ^= 1
    path.write_bytes(content)


def forged(path, version="9.0", **changes):
    """Write the model anew, with other things in it and sums that are right."""
    about, arrays = archive.read(path)
    about = {name: value for name, value in about.items() if name not in ("tensors", "format")}
    archive.write(path, {**about, "version": version, "model": {**about["model"], **changes}}, arrays)


def of_newer_format(path, monkeypatch):
    with monkeypatch.context() as later:
        later.setattr(archive, "FORMAT", archive.FORMAT + 1)
        forged(path)


DAMAGES = {
    "cut off": lambda path, _: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path, _: path.write_bytes(b""),
    "damaged by one bit in an array": lambda path, _: flipped(path, archive.read(path)[1]["model.link.s"].tobytes()),
    "damaged by one bit in the description": lambda path, _: flipped(path, b"perceptron"),
    "something else: text, a pickle, an archive": lambda path, _: path.write_bytes(pickle.dumps([1.0] * 100)),
    "a safetensors file of another program": lambda path, _: save_file({"w": np.ones(3)}, path),
    "of a newer format": of_newer_format,
    "forged, to name a learner that is none": lambda path, _: forged(path, learner="os.system"),
    "forged, to claim 2⁴⁰ features": lambda path, _: forged(path, features=1 << 40),
    "a folder": lambda path, _: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("what", TABLE)
def test_refusals_are_those_of_the_table(what, tmp_path, monkeypatch):
    path = tmp_path / "model.linsep"
    rows = np.arange(12.0).reshape(3, 4)
    save(Perceptron().partial_fit(rows, [0, 1, 2], classes=[0, 1, 2]), path)
    DAMAGES[what](path, monkeypatch)
    with pytest.raises(ModelError) as caught:
        load(path)
    said = re.escape(TABLE[what]).replace(r"\.\.\.", ".+")
    assert re.fullmatch(said, caught.value.reason), json.dumps(caught.value.reason)


def test_the_table_has_all_of_them():
    assert list(TABLE) == list(DAMAGES)
