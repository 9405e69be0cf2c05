# METATE_VERSION, from the one place that has it.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../python/metate/_version.py version_line REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" METATE_VERSION "${version_line}")
if(NOT METATE_VERSION)
  message(FATAL_ERROR "python/metate/_version.py: expected a line such as __version__ = \"1.2.3\"")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../python/metate/_version.py)
