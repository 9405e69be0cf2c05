"""Windows with a canvas, scenes in three dimensions and controls: Taichi's GGUI, drawn with OpenGL.

`Window` joins the parts; `mt.ui` gives the names out. Pictures are always drawn into memory of the graphics
device (device.py), with a display or without, and a window shows that picture. Loaded with first use; nothing
here knows kernels or the runtime.
"""
