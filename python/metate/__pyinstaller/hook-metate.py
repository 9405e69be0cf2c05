"""For PyInstaller: modules that are imported by name, the extensions, and sources, which kernels are compiled from."""

from PyInstaller.utils.hooks import collect_submodules

hiddenimports = [*collect_submodules("metate"), "metate_native._runtime", "metate_native._compiler"]
module_collection_mode = "pyz+py"
