"""`mt.tools`: pictures, videos and meshes under Taichi's names; they are made in metate.ui."""

from . import not_here as _not_here
from .ui import ply as np2ply
from .ui.gui import imshow
from .ui.image import imread, imresize, imwrite
from .ui.ply import PLYWriter
from .ui.video import VideoManager, write_gif

__all__ = ["PLYWriter", "VideoManager", "imread", "imresize", "imshow", "imwrite", "np2ply", "write_gif"]


def __getattr__(name: str):
    raise _not_here.error(__name__, name, _not_here.OF_TOOLS)
