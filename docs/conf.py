"""How the documentation is built: offline, with examples that are run."""

import sys
from pathlib import Path

import firstlight

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "firstlight"
author = "the firstlight developers"
release = version = firstlight.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "generated",
    "mathml",
    "plain_docstrings",
]
exclude_patterns = ["_build", "evidence", "measured"]  # read by pages, and none themselves
nitpicky = False
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
smartquotes_action = "qe"  # options keep their two dashes

autodoc_typehints = "none"  # types stand in the docstrings, with shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # fields of a tuple are members already
napoleon_use_param = False  # "shape (n, d)" is no link
napoleon_use_rtype = False
suppress_warnings = ["ref.python"]  # every theory has a Problem

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "plot_gallery": True,
    "capture_repr": (),
    "write_computation_times": False,  # its pages ask other machines for scripts
}

html_theme = "pydata_sphinx_theme"
html_title = "firstlight"
html_static_path = ["_static"]
html_css_files = ["firstlight.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"firstlight {release}"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_sidebars = {"start": [], "index": []}
html_context = {"default_mode": "auto"}
