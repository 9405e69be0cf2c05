"""Pictures and videos in files, read by an independent reader."""

import pathlib
import shutil

import numpy as np
import pytest
import seeded

import metate as mt

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def random_image(*shape):
    return seeded.generator("random_image").integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_files_have_rows_from_the_top(tmp_path, channels):
    image = random_image(7, 5, *channels)
    mt.imwrite(image, tmp_path / "x.png")
    rows = np.asarray(Image.open(tmp_path / "x.png"))
    expected = image if channels != (1,) else image[..., 0]
    for x in range(7):
        for y in range(5):
            np.testing.assert_array_equal(rows[4 - y, x], expected[x, y])
    np.testing.assert_array_equal(mt.imread(tmp_path / "x.png"), image.reshape(7, 5, -1))


def test_imread_converts_channels(tmp_path):
    image = random_image(6, 4, 3)
    mt.imwrite(image, tmp_path / "x.png")
    assert mt.imread(str(tmp_path / "x.png"), channels=4).shape == (6, 4, 4)
    grey = mt.imread(tmp_path / "x.png", channels=1)
    assert np.abs(grey[..., 0] - image @ [0.299, 0.587, 0.114]).max() <= 1
    with pytest.raises(mt.MetateError, match="channels: expected 0, 1, 3 or 4, got 2"):
        mt.imread(tmp_path / "x.png", channels=2)


def test_imwrite_takes_floats_and_jpeg(tmp_path):
    mt.imwrite(np.full((8, 8, 3), 0.5, np.float32), tmp_path / "x.png")
    assert (np.asarray(Image.open(tmp_path / "x.png")) == 128).all()
    mt.tools.imwrite(np.full((8, 8, 4), 0.25), tmp_path / "x.jpg")
    assert abs(np.asarray(Image.open(tmp_path / "x.jpg")).astype(int) - 64).max() <= 3


def test_imresize_takes_the_nearest_pixel():
    image = random_image(3, 2, 3)
    larger = mt.tools.imresize(image, 9, 4)
    np.testing.assert_array_equal(larger, image.repeat(3, axis=0).repeat(2, axis=1))
    np.testing.assert_array_equal(mt.tools.imresize(larger, 3, 2), image)
    assert mt.tools.imresize(np.zeros((4, 4)), 8).shape == (8, 8)


def test_video_manager_makes_a_gif(tmp_path):
    frames = [np.full((16, 12, 3), value, np.uint8) for value in (0, 100, 200)]
    with mt.tools.VideoManager(output_dir=tmp_path, framerate=20, automatic_build=False) as video:
        video.write_frames(frames)
        video.make_video(mp4=False)
    with Image.open(video.get_output_filename(".gif")) as gif:
        assert gif.n_frames == 3 and gif.info["duration"] == 50 and gif.size == (16, 12)
        for number, frame in enumerate(frames):
            gif.seek(number)
            assert np.asarray(gif.convert("RGB"))[0, 0].tolist() == frame[0, 0].tolist()
    assert sorted(p.name for p in pathlib.Path(video.get_frame_directory()).iterdir()) == [f"{n:06d}.png" for n in range(3)]
    video.clean_frames()
    assert not any(pathlib.Path(video.get_frame_directory()).iterdir())
    with pytest.raises(mt.MetateError, match="make_video: expected at least one frame"):
        video.make_video()


def test_video_manager_resizes_and_builds_by_itself(tmp_path):
    with mt.tools.VideoManager(tmp_path, 32, 24, video_filename="film") as video:
        video.write_frame(random_image(16, 12))
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.size == (32, 24)
    assert (tmp_path / "film.mp4").exists() == (shutil.which("ffmpeg") is not None)


def test_an_mp4_without_ffmpeg_is_an_error(tmp_path, monkeypatch):
    video = mt.tools.VideoManager(tmp_path)
    video.write_frame(random_image(4, 4))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(mt.MetateError, match="expected the program ffmpeg"):
        video.make_video(gif=False)
