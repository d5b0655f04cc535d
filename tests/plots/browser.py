"""A real browser, Chromium, spoken to over two pipes: what it shows, what it complains of, what it asks the network."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30.0
"""Seconds that an answer may take."""
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-quic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe",
)  # fmt: skip


def find() -> str | None:
    """Return where a browser is, None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser(program: str):
    """Start the browser with a profile of its own, and end it."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # It reads from descriptor 3 and writes to 4; ours lie beyond, so that neither is overwritten on the way.
        theirs_in, ours_out = _pipe()
        ours_in, theirs_out = _pipe()
        quiet = os.open(os.devnull, os.O_RDWR)
        files = [(os.POSIX_SPAWN_DUP2, quiet, 0), (os.POSIX_SPAWN_DUP2, quiet, 1), (os.POSIX_SPAWN_DUP2, quiet, 2)]
        files += [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        command = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        process = os.posix_spawn(program, command, os.environ, file_actions=files, setpgroup=0)
        for descriptor in (quiet, theirs_in, theirs_out):
            os.close(descriptor)
        wire = Wire(ours_in, ours_out)
        try:
            yield wire
            wire.ask("Browser.close")
        finally:
            os.close(ours_in)
            os.close(ours_out)
            _end(process)


def _pipe() -> tuple[int, int]:
    pair = os.pipe()
    beyond = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in pair]
    for descriptor in pair:
        os.close(descriptor)
    return beyond[0], beyond[1]


def _end(process: int) -> None:
    """Wait a moment for the browser to leave; then make it, with the processes of its group."""
    deadline = monotonic() + 3
    while monotonic() < deadline:
        if os.waitpid(process, os.WNOHANG) != (0, 0):
            break
        select.select([], [], [], 0.02)
    else:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


class Wire:
    """The DevTools protocol: JSON messages, a NUL after each."""

    def __init__(self, reader: int, writer: int):
        self.reader, self.writer, self.number, self.rest, self.events = reader, writer, 0, b"", []

    def ask(self, method: str, session: str | None = None, **parameters):
        """Send a command and return its result; what happens meanwhile is kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.writer, rest) :]
        while (answer := self._receive()).get("id") != self.number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait(self, event: str) -> None:
        """Return once an event has happened."""
        while not any(happened["method"] == event for happened in self.events):
            self._receive()

    def _receive(self) -> dict:
        while b"\0" not in self.rest:
            if not select.select([self.reader], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser has been silent for {PATIENCE:g} seconds")
            part = os.read(self.reader, 1 << 20)
            if not part:
                raise EOFError("the browser has gone")
            self.rest += part
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


class Tab:
    """A page as it is shown: `complaints` is what the console says, `requests` is every address asked for."""

    def __init__(
        self, wire: Wire, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = ""
    ):
        self.wire = wire
        target = wire.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = wire.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        wire.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.ask("Page.navigate", url=page.resolve().as_uri())
        wire.wait("Page.loadEventFired")

    def ask(self, method: str, **parameters):
        """Send a command to the page."""
        return self.wire.ask(method, self.session, **parameters)

    def value(self, expression: str):
        """Return what an expression of JavaScript is in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['exception']['description']}")
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """Return the whole page as a PNG file."""
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def print(self) -> bytes:
        """Return the printed page as a PDF file."""
        printed = self.ask("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        return base64.b64decode(printed["data"])

    @property
    def complaints(self) -> list[str]:
        """What the console shows: messages, exceptions, refusals."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.wire.events if event["method"] in kinds]

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for, the page's own first; what lies in the page itself is not asked for."""
        asked = (event["params"] for event in self.wire.events if event["method"] == "Network.requestWillBeSent")
        return [what["request"]["url"] for what in asked if not what["request"]["url"].startswith("data:")]
