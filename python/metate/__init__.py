"""Metate: data-parallel kernels over sparse trees and arrays, run at once or shipped as modules."""
from . import errors, types
from .errors import *
from .types import *
