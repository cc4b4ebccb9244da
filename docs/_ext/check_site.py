"""Check a site that was built: `python check_site.py FOLDER [--browser]`.

Every link, picture and script of a page must lead to a file and an anchor of the site. With ``--browser``
every page is opened from disk, wide and at 400 pixels: it must ask no other machine for anything, raise no
error and be no wider than the window.
"""

import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}
WINDOWS = ((1280, "light"), (400, "dark"))


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.append(given[LOADED[tag]])
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])


def pages(folder: Path) -> list[Path]:
    """Return the pages of a site; files that the theme keeps for itself are none."""
    return sorted(file for file in folder.rglob("*.html") if "_static" not in file.parts)


def broken(folder: Path) -> Iterator[str]:
    """Say what leads nowhere, and what would be fetched from elsewhere."""
    read = {file.resolve(): Page(file) for file in pages(folder)}
    for file, page in read.items():
        here = file.relative_to(folder.resolve())
        yield from (f"{here} loads {one}" for one in page.loaded if urlsplit(one).scheme not in ("", "data"))
        for one in [*page.links, *page.loaded]:
            parts = urlsplit(one)
            if parts.scheme or parts.netloc:
                continue  # elsewhere: followed by a reader, never by the page
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                yield f"{here} links to {one}, which is no file"
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].anchors:
                yield f"{here} links to {one}, where there is no such place"


def unfit(folder: Path) -> Iterator[str]:
    """Say which pages ask other machines, raise errors or overflow, as a browser shows them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for width, scheme in WINDOWS:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            told: list[str] = []
            page.on(
                "request",
                lambda one, told=told: (
                    told.append(f"asks for {one.url}")
                    if "//" in one.url and not one.url.startswith("file:")
                    else None
                ),
            )
            page.on("pageerror", lambda one, told=told: told.append(f"raises {one}"))
            for file in pages(folder):
                told.clear()
                page.goto(file.resolve().as_uri())
                over = page.evaluate(
                    "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                if over > 0:
                    told.append(f"is {over} pixels too wide")
                yield from (f"{file.relative_to(folder)} at {width} pixels {one}" for one in told)
            page.close()
        browser.close()


def main(folder: str, *options: str) -> int:
    """Print what is wrong; return 1 if anything is."""
    site = Path(folder)
    wrong = list(broken(site)) + (list(unfit(site)) if "--browser" in options else [])
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(pages(site))} pages, {len(wrong)} faults")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
