"""What elements of fields of vectors and matrices are read as. Loads NumPy: Field does so when it reads the first one."""

from __future__ import annotations

import numpy as np

from ..dtypes import bf16_values
from ..matrix_value import MatrixValue


def element_value(field, key, data: bytearray) -> MatrixValue:
    """The vector or matrix that was read at `key`, from its bytes."""
    element = field.element
    if element.dtype.numpy is None:  # bf16: widened
        wide = bf16_values(np.frombuffer(data, np.uint16))
        found = wide.reshape(element.shape).view(MatrixValue)
    else:
        found = np.ndarray.__new__(MatrixValue, element.shape, element.dtype.numpy, data)
    found.__dict__["_home"] = (field, key)  # past MatrixValue.__setattr__, which looks for components
    return found
