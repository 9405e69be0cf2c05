"""Sphinx's settings for the manual as a site: `scripts/docs` builds it. Nothing else reads this file."""

import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = (ROOT / "python/metate/_version.py").read_text()

project = "Metate"
author = "The Metate authors"
copyright = author
release = re.search(r'"([\d.]+\w*)"', VERSION)[1]

extensions = ["myst_parser", "breathe", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "manual/index"
exclude_patterns = ["next.md", "coverage.md"]
suppress_warnings = ["misc.highlighting_failure", "toc.glob", "duplicate_declaration.cpp", "ref.python"]

# Markdown as GitHub has it: anchors of headings, tables, links. Formulas are text: pages need nothing from elsewhere.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

breathe_projects = {"metate": os.environ["METATE_DOXYGEN_XML"]}
breathe_default_project = "metate"
breathe_show_include = False
cpp_id_attributes = ["METATE_API"]
c_id_attributes = ["METATE_API"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_google_docstring = True

html_theme = "furo"
html_title = f"Metate {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
copybutton_exclude = ".linenos, .gp, .go"

_LINK = re.compile(r"\[([^\]\n]+)\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")


def name_what_is_not_on_the_site(app, document, source):
    """Links to the checkout's files outside of docs/ become their paths: the site has pages of docs/ only."""
    here = pathlib.Path(app.srcdir, document).parent

    def replace(match):
        target = (here / match[2]).resolve()
        if target.is_relative_to(app.srcdir):
            return match[0]
        path = f"`{target.relative_to(ROOT)}`"
        return path if match[1] == path else f"{match[1]} ({path})"

    source[0] = _LINK.sub(replace, source[0])


def keep_names(app, what, name, thing, options, lines):
    """`RuntimeError_` in a docstring is a name, no link; Sphinx would look for its target."""
    lines[:] = [re.sub(r"(?<![`\w])(\w+)_(?![\w`])", r"\1\_", line) for line in lines]


def setup(app):
    app.connect("source-read", name_what_is_not_on_the_site)
    app.connect("autodoc-process-docstring", keep_names)
