"""The version of Metate: CMake, pip and the package read it here."""

__version__ = "0.1.0"
