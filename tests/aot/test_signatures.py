"""Signatures of modules: made by metate-run and by `metate build --sign`, checked by metate-run and by OpenSSL's own tool."""

import pathlib
import shutil
import subprocess

import pytest

from metate import cli

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "build" / "bin" / "metate-run"
LIBRARY = ROOT / "build" / "lib" / "libmetate_signature.so"
pytestmark = [
    pytest.mark.skipif(not LIBRARY.exists(), reason="built without OpenSSL (Debian: libssl-dev)"),
    pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl to make keys (Debian: openssl)"),
]
KERNELS = """
import metate as mt

@mt.kernel
def twice(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in x:
        x[i] *= 2
"""


def run(*command, status=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stderr if status else done.stdout


def pair(folder, name, kind="ed25519"):
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    run("openssl", "genpkey", "-algorithm", kind, "-out", private)
    run("openssl", "pkey", "-in", private, "-pubout", "-out", public)
    return private, public


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return pair(folder, "mine"), pair(folder, "other")


@pytest.fixture
def signed(keys, tmp_path):
    (tmp_path / "twice.py").write_text(KERNELS)
    file = tmp_path / "twice.metate"
    assert cli.main(["build", str(tmp_path / "twice.py"), "-o", str(file), "--sign", str(keys[0][0])]) == 0
    return file


def test_what_is_signed_is_verified(keys, signed):
    (private, public), _ = keys
    assert run(RUN, "verify", signed, f"--key={public}").endswith("bytes, signed by this key\n")
    witness = ("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", signed, "-sigfile", f"{signed}.sig")
    assert "Signature Verified Successfully" in run(*witness)
    before = pathlib.Path(f"{signed}.sig").read_bytes()
    assert run(RUN, "sign", signed, f"--key={private}") == f"{signed}.sig: the signature of {signed}\n"
    assert pathlib.Path(f"{signed}.sig").read_bytes() == before and len(before) == 64  # the same bytes each time


def test_unsigned_damaged_and_foreign_files_are_told_apart(keys, signed, tmp_path):
    (_, public), (_, other) = keys
    data = signed.read_bytes()
    unsigned = tmp_path / "unsigned.metate"
    unsigned.write_bytes(data)
    assert (
        run(RUN, "verify", unsigned, f"--key={public}", status=1)
        == f"metate-run: {unsigned} is not signed: there is no {unsigned}.sig\n"
    )
    said = run(RUN, "verify", signed, f"--key={other}", status=1)
    assert f"{signed} is signed, but not by the key of {other}, or it was changed behind" in said
    signed.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "METATE_E_CORRUPT: module file: its hash does not match: the file is damaged" in run(
        RUN, "verify", signed, f"--key={public}", status=1
    )
    # A sound module of somebody else under a signature of ours.
    (tmp_path / "twice.py").write_text(KERNELS.replace("*= 2", "*= 3"))
    assert cli.main(["build", str(tmp_path / "twice.py"), "-o", str(signed)]) == 0
    run(RUN, "verify", signed)
    assert "is signed, but not by the key of" in run(RUN, "verify", signed, f"--key={public}", status=1)
    pathlib.Path(f"{signed}.sig").write_bytes(b"short")
    assert "expected a signature of 64 bytes, got 5" in run(RUN, "verify", signed, f"--key={public}", status=1)


def test_wrong_keys_are_named(keys, signed, tmp_path, capsys):
    (private, public), _ = keys
    rsa, rsa_public = pair(tmp_path, "rsa", "rsa")
    assert f"{public}: expected a private key without a passphrase, as PEM" in run(
        RUN, "sign", signed, f"--key={public}", status=1
    )
    assert f"{private}: expected a public key, as PEM" in run(RUN, "verify", signed, f"--key={private}", status=1)
    assert "expected an Ed25519 key, got another kind" in run(RUN, "sign", signed, f"--key={rsa}", status=1)
    assert "expected an Ed25519 key, got another kind" in run(RUN, "verify", signed, f"--key={rsa_public}", status=1)
    assert "cannot open" in run(RUN, "verify", signed, f"--key={tmp_path}/gone", status=1)
    assert "sign: expected one file and --key=PRIVATE.pem" in run(RUN, "sign", signed, status=1)
    words = ["build", str(tmp_path / "twice.py"), "-o", str(tmp_path / "x.metate"), "--sign"]
    assert cli.main([*words, str(rsa)]) == 2 and "--sign: " in capsys.readouterr().err
    assert cli.main([*words, str(tmp_path / "gone")]) == 2
    assert f"metate build: --sign: {tmp_path}/gone: no such file" in capsys.readouterr().err


def test_objects_and_bundles_are_signed(keys, signed, tmp_path):
    (private, public), _ = keys
    source = str(tmp_path / "twice.py")
    targets = ("--target", "x86-64-v2", "--target", "aarch64:cortex-a72")
    assert cli.main(["build", source, "-o", str(tmp_path / "twice.o"), *targets, "--sign", str(private)]) == 0
    for name in ("twice.x86-64-v2.o", "twice.aarch64-cortex-a72.o"):
        run(RUN, "verify", tmp_path / name, f"--key={public}")
    # A name that looks like a target's; C source, which is for any machine, whatever targets are given.
    twins = tmp_path / "x.x86-64-v2.a"
    words = ("--name", "x", "--depfile", str(tmp_path / "d"))
    assert cli.main(["build", source, "-o", str(twins), *targets, "--sign", str(private), *words]) == 0
    files = {"x.x86-64-v2.x86-64-v2.a", "x.x86-64-v2.aarch64-cortex-a72.a"}
    for name in files:
        run(RUN, "verify", tmp_path / name, f"--key={public}")
    listed = (tmp_path / "d").read_text().partition(":")[0].split()
    assert {pathlib.Path(path).name for path in listed} == files | {f"{name}.sig" for name in files} | {"x.x86-64-v2.h"}
    assert cli.main(["build", source, "-o", str(tmp_path / "twice.c"), *targets, "--sign", str(private)]) == 0
    run(RUN, "verify", tmp_path / "twice.c", f"--key={public}")
    assert cli.main(["build", source, "--bundle", str(tmp_path / "host"), "--emit", "o", "--sign", str(private)]) == 0
    run(RUN, "verify", tmp_path / "host/twice.o", f"--key={public}")
    assert "\ttwice.o.sig\tits signature" in (tmp_path / "host/FILES.txt").read_text()
    assert {path.name for path in (tmp_path / "host").iterdir()} == {"twice.o", "twice.o.sig", "twice.h", "FILES.txt"}


def test_the_library_is_separate():
    for file in (RUN, ROOT / "build/lib/libmetate.so"):
        assert "libcrypto" not in run("readelf", "-d", file) and "signature" not in run("readelf", "-d", file)
    assert "libcrypto" in run("readelf", "-d", LIBRARY)
