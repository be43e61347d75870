#!/usr/bin/env python3
"""Opens a report page in a headless Chromium and checks that it works: every chart has drawn marks, runs can be
switched off and on, the theme changes, it fits a phone, nothing is asked of the network, the console is silent.

usage: check_page.py PAGE.html [SCREENSHOT.png]

Exit 0 when all holds, 1 when something does not. Without Chromium it says that the check is skipped, and exits 0.
Chromium is driven through its own debugging pipe, so nothing has to be installed besides.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe"
).split()


class Browser:
    def __init__(self, program, folder):
        ours, theirs = os.pipe(), os.pipe()
        self.write, self.read = ours[1], theirs[0]

        def place():
            ends = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        # 3 and 4 are where Chromium expects its pipes.
        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self.rest, self.count, self.events, self.session = b"", 0, [], None

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise SystemExit("check_page: Chromium ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise SystemExit(f"check_page: {method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def ask(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise SystemExit(f"check_page: {script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")


# The pixels of every chart that differ from its emptiest colour.
INK = """[...document.querySelectorAll('canvas')].map(c => {
  const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  let ink = 0; for (let i = 3; i < d.length; i += 4) ink += d[i] > 0; return ink; })"""
SETTLE = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))))"


def check(browser, page, picture):
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ["Page", "Runtime", "Log", "Network"]:
        browser.call(domain + ".enable")
    browser.call("Emulation.setDeviceMetricsOverride", width=1200, height=1500, deviceScaleFactor=1, mobile=False)
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    for _ in range(100):
        if browser.ask("document.readyState") == "complete" and browser.ask("document.documentElement.dataset.charts"):
            break
        time.sleep(0.1)
    browser.ask(SETTLE)
    faults = []

    def hold(fact, words):
        print(("ok    " if fact else "FAULT ") + words)
        if not fact:
            faults.append(words)

    before = browser.ask(INK)
    hold(before and all(ink > 500 for ink in before), f"{len(before)} charts have drawn marks: {before}")
    hold(browser.ask("document.querySelectorAll('h1').length") == 1, "one main heading")
    hold(browser.ask("[...document.querySelectorAll('figure')].every(f => f.querySelector('h2'))"), "every chart has a heading")
    if picture:
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(picture, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
        print("      screenshot in " + picture)
    switches = browser.ask("document.querySelectorAll('input[data-run]').length")
    if switches:
        browser.ask("document.querySelector('input[data-run]').click()")
        browser.ask(SETTLE)
        hidden = browser.ask(INK)
        hold(hidden != before, f"a run can be switched off: {hidden}")
        browser.ask("document.querySelector('input[data-run]').click()")
        browser.ask(SETTLE)
        hold(browser.ask(INK) == before, "and on again")
    over = browser.ask("""(() => { const o = document.querySelector('.u-over').getBoundingClientRect();
      return [o.left, o.top, o.width, o.height]; })()""")
    left, top, width, height = over
    for kind, x in [("mouseMoved", 0.3), ("mousePressed", 0.3), ("mouseMoved", 0.6), ("mouseReleased", 0.6)]:
        browser.call("Input.dispatchMouseEvent", type=kind, x=left + x * width, y=top + height / 2,
                     button="none" if kind == "mouseMoved" and x == 0.3 else "left",
                     buttons=int(kind != "mouseMoved" or x > 0.3), clickCount=1)
        browser.ask(SETTLE)
    hold(browser.ask("document.querySelector('.u-legend .u-value').textContent.trim() !== '--'"), "hovering tells the values")
    hold(browser.ask(INK)[0] != before[0], "dragging zooms")
    theme = browser.ask("document.documentElement.dataset.theme")
    browser.ask("document.getElementById('theme').click()")
    browser.ask(SETTLE)
    hold(browser.ask("document.documentElement.dataset.theme") != theme, "the theme changes")
    if picture:
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(picture.replace(".png", "-dark.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))
    browser.call("Emulation.setDeviceMetricsOverride", width=380, height=800, deviceScaleFactor=1, mobile=True)
    browser.ask(SETTLE)
    wide = browser.ask("document.documentElement.scrollWidth")
    hold(wide <= 380, f"it fits a phone: {wide} of 380 pixels")
    hold(all(ink > 500 for ink in browser.ask(INK)), "and draws there")
    if picture:
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(picture.replace(".png", "-phone.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))
    # Reading pixels is this script's own doing.
    browser.events = [e for e in browser.events if "getImageData" not in json.dumps(e)]
    wrong = [e for e in browser.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
             or (e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "warning"))]
    hold(not wrong, f"the console is silent {wrong or ''}")
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    far = [url for url in asked if not url.startswith(("file:", "data:", "about:"))]
    hold(not far, f"nothing is asked of the network {far or ''}")
    return 1 if faults else 0


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    program = next((p for p in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if p), None)
    if program is None:
        print("check_page: skipped, no Chromium here")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            return check(browser, sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
        finally:
            browser.process.terminate()
            browser.process.wait()


if __name__ == "__main__":
    sys.exit(main())
