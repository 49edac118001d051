"""One self-contained HTML page about a kernel, or about two side by side.

A :class:`Subject` holds what is shown of one config; :func:`page` writes the page. Its pictures are drawn in
the browser from the plan's own layouts (:func:`kernel_data`), so that pointing at a thread or an element
tells what the kernel does with it.
"""

from cutegen.report.data import kernel_data
from cutegen.report.page import page, tables
from cutegen.report.subject import Advice, Subject, refused, subject
from cutegen.report.tables import Row, Table, merged

__all__ = [
    "Advice",
    "Row",
    "Subject",
    "Table",
    "kernel_data",
    "merged",
    "page",
    "refused",
    "subject",
    "tables",
]
