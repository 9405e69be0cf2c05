"""Memory of another library, as tests give it to kernels and arrays."""


class Lent:
    """Memory that is offered through DLPack alone, as other libraries' tensors are: it says no shape."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
