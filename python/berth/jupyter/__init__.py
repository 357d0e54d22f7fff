"""berth in Jupyter: a server extension, on which the panel in JupyterLab and Notebook 7 stands.

    GET /berth/api/overview   devices, this user's kernels, who holds what; with an ETag
    GET /berth/api/events     the same as a stream
    /berth/page/              the page of `berth serve`, over its Unix socket

All behind Jupyter's login and at its base_url. One look serves all tabs, and none is taken while
nobody asks. The driver is never asked in Jupyter's own process, and nothing here blocks its loop.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List


def _jupyter_server_extension_points() -> List[Dict[str, str]]:
    return [{"module": "berth.jupyter"}]


def _load_jupyter_server_extension(app: Any) -> None:
    """Whatever goes wrong here must not keep Jupyter from starting."""
    try:
        from .handlers import handlers
        from .kernels import KernelList
        from .shared_look import SharedLook

        web = app.web_app
        look = SharedLook(KernelList(web.settings).list)
        web.add_handlers(".*$", handlers(web.settings["base_url"], look))
    except Exception as error:
        app.log.warning("berth: its panel and page are not to be had in this Jupyter: %r", error)
        app.log.debug("berth: where that came from", exc_info=True)


def load_jupyter_server_extension(app: Any) -> None:
    """Asked of by Notebook 6 alone, whose server is another: jupyter_server takes the one above."""
    app.log.warning("berth: Notebook 6 shows neither its panel nor its page; in a notebook, %load_ext berth works")
