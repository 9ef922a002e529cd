"""Sphinx's settings: `make docs` builds the site offline, with warnings as errors."""

import os
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
# Keras comes with a backend of the user's choice; the reference is the same on each.
os.environ.setdefault("KERAS_BACKEND", "jax")

import sphinx.ext.autosummary  # noqa: E402

import astralearn  # noqa: E402

# A summary is a docstring's first sentence, which does not end with these.
sphinx.ext.autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.", "Eqs.")

project = "astralearn"
author = "The astralearn developers"
copyright = f"the {project} developers, BSD-3-Clause"
# The version of a development tree changes with every commit, and would change every page.
version = release = astralearn.__version__.split("+")[0]

REPOSITORY = "https://github.com/astralearn/astralearn"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "commands",
    "docstrings",
    "links",
    "names",
    "prints",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_templates", "_static", "gallery/*.py", "gallery/README.rst"]
templates_path = ["_templates"]
# Backticks in docstrings: a link where the name is one of ours, code elsewhere.
default_role = "py:obj"
pygments_style = "friendly"
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold classes.

myst_enable_extensions = ["attrs_block", "attrs_inline"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "github_url": REPOSITORY,
    "use_edit_page_button": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1,
    "image_srcset": ["2x"],
    "backreferences_dir": None,
    "write_computation_times": False,
}

warnings.filterwarnings("ignore", message=".*Agg is non-interactive.*")
