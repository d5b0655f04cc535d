"""Check a built site: links between pages lead somewhere, and no page loads anything from the network."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The addresses and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Collect what a tag refers to."""
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        loads = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
        if tag in loads and values.get(loads[tag]) and values.get("rel") != "canonical":
            self.loaded.append(values[loads[tag]])


@cache
def page(path):
    """Return a parsed page."""
    return Page(path.read_text(encoding="utf-8"))


def faults(root):
    """Yield a line for each address that leads nowhere or into the network.

    >>> list(faults(Path("a-folder-without-pages")))
    []
    """
    for path in sorted(root.rglob("*.html")):
        where = path.relative_to(root)
        if where.parts[0] == "_static":  # templates of the theme
            continue
        for address in page(path).loaded:
            if urlsplit(address).netloc:
                yield f"{where}: loads {address}"
        for address in page(path).links + page(path).loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                yield f"{where}: {address} is a folder; link to its index.html"
            elif not target.exists():
                yield f"{where}: {address} does not exist"
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).anchors:
                yield f"{where}: {address} has no such anchor"


def main(folder):
    """Print the faults; exit with 1 if there are any."""
    found = sorted(set(faults(Path(folder).resolve())))
    print("\n".join(found) or f"links: {len(list(Path(folder).rglob('*.html')))} pages, none broken")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
