"""A headless Chromium that tests drive over its debugging pipe (DevTools protocol), with no package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Browser", "Tab", "find_browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SECONDS = 60.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root, as in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    """A Chromium of this machine; None without one."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Browser:
    """A browser process; a context manager.

    Args:
        executable: The browser.
        profile: A directory for its files.
    """

    def __init__(self, executable: str, profile: Path) -> None:
        near_read, self._write = os.pipe()
        self._read, near_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes to 4; a shell puts the pipes there. (Not sh:
        # dash has no descriptors above 9.)
        to_read, to_write = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (near_read, near_write))
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        words = [executable, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", script, *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for end in (near_read, near_write, to_read, to_write):
            os.close(end)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.send("Browser.close")
            self._process.wait(20)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Call a method and wait for its result; what comes in between is kept in ``events``."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") != self._number:
                self.events.append(found)
            elif "error" in found:
                raise RuntimeError(f"{method}: {found['error']['message']}")
            else:
                return dict(found["result"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + _SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            piece = os.read(self._read, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer" if not ready else "the browser has ended")
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))

    def open(self, url: str, *, width: int = 1400, height: int = 1000, theme: str = "light") -> Tab:
        """A tab with a page that has loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        for domain in ("Page", "Runtime", "Log"):
            tab.send(f"{domain}.enable")
        tab.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        tab.set_theme(theme)
        tab.send("Page.navigate", url=url)
        tab.wait("document.readyState === 'complete' && location.href !== 'about:blank'")
        return tab


class Tab:
    """One page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        return self._browser.send(method, self._session, **params)

    def js(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression holds."""
        end = time.monotonic() + _SECONDS
        while not self.js(expression):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.02)

    def set_theme(self, theme: str) -> None:
        """What the system prefers: ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name: str) -> None:
        """Press and release a key such as ``ArrowRight``."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        for kind in ("keyDown", "keyUp"):
            code = codes.get(name, 0)
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Type text into what has the focus."""
        self.send("Input.insertText", text=text)

    def screenshot(self, path: Path, **clip: float) -> None:
        """Write what is seen as PNG, or the part with ``x``, ``y``, ``width`` and ``height``."""
        options: dict[str, Any] = {"clip": {**clip, "scale": 1}} if clip else {}
        found = self.send("Page.captureScreenshot", format="png", **options)
        path.write_bytes(base64.b64decode(found["data"]))

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and what the browser could not load."""
        found = []
        for event in self._browser.events:
            params = event.get("params", {})
            if event.get("sessionId") != self._session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(str(params["entry"]["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
        return found
