"""What a film of an example must be."""

import numpy as np
import pytest


def check_film(path) -> None:
    """Three frames, none of them empty, that are not all the same. Without Pillow the test is skipped."""
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    with Image.open(path) as gif:
        assert gif.n_frames == 3
        frames = []
        for number in range(3):
            gif.seek(number)
            frames.append(np.asarray(gif.convert("RGB")).astype(int))
    assert all(frame.std() > 1 for frame in frames), "a frame is empty"
    assert abs(frames[2] - frames[0]).max() > 10, "nothing moves"
