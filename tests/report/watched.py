"""A page in a browser, and all that it said, asked for and failed at."""

from __future__ import annotations

from playwright.sync_api import Page


class Watched:
    """A page and all that it said, asked for and failed at."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
