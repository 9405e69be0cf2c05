"""For PyInstaller: modules that are imported by name, the extensions, sources, which kernels are compiled from, and the page of
`metate explain`."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = [*collect_submodules("metate"), "metate_native._runtime", "metate_native._compiler"]
datas = collect_data_files("metate", includes=["explain/page.html"])
module_collection_mode = "pyz+py"
