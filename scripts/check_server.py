#!/usr/bin/env python3
"""Starts a server, opens its page in a headless Chromium and checks that it works: it loads and draws, follows what is
learned, predicts, teaches, tells what went wrong, asks for a token where there are tokens and keeps it nowhere, changes
its theme, fits a phone, can be used by the keyboard, asks nobody but its server, and is silent on the console.

usage: check_server.py NOREGRET [SCREENSHOT.png]

Exit 0 when all holds, 1 when something does not. Without Chromium it says that the check is skipped, and exits 0.
"""
import base64
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_page import INK, SETTLE, Browser  # noqa: E402


class Server:
    def __init__(self, program, folder, *more):
        command = [program, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--log", "warn", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline()).group()

    def ask(self, method, path, body=None, token=None):
        headers = {"content-type": "application/json"} | ({"authorization": "Bearer " + token} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return json.loads(error.read())

    def stop(self):
        self.process.terminate()
        self.process.wait()


CITIES = ["Rome", "Oslo", "Lima", "Cairo"]


def stream(seed, count, turned=False):
    """A city and a temperature decide whether somebody buys an ice cream; later, whether somebody buys a coat."""
    draw = random.Random(seed)
    for _ in range(count):
        city, temperature = draw.choice(CITIES), draw.uniform(-10, 35)
        want = (temperature - 15) / 8 + (CITIES.index(city) - 1.5) / 2 + draw.gauss(0, 1)
        features = {"temperature": round(temperature, 1), "city": city, "weekend": draw.random() < 0.3}
        yield {"features": features, "label": 1 if (want > 0) != turned else -1}


class Check:
    def __init__(self, browser, picture):
        self.browser, self.picture, self.faults, self.target = browser, picture, [], None

    def hold(self, fact, words):
        print(("ok    " if fact else "FAULT ") + words)
        if not fact:
            self.faults.append(words)

    def until(self, script, words, seconds=15):
        end = time.time() + seconds
        while time.time() < end:
            if self.browser.ask(script):
                return self.hold(True, words)
            time.sleep(0.1)
        self.hold(False, words)
        return None

    def open(self, url):
        browser = self.browser
        browser.session = None
        if self.target:
            browser.call("Target.closeTarget", targetId=self.target)
        browser.events = []
        self.target = target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        browser.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            browser.call(domain + ".enable")
        self.size(1280, 900)
        browser.call("Page.navigate", url=url)
        while not browser.ask("document.readyState === 'complete' && !!document.getElementById('ask')"):
            time.sleep(0.05)

    def size(self, width, height, mobile=False):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.browser.ask(SETTLE)

    def shot(self, ending=""):
        if not self.picture:
            return
        high = self.browser.ask("Math.max(900, Math.ceil(document.documentElement.getBoundingClientRect().height))")
        wide = self.browser.ask("innerWidth")
        clip = {"x": 0, "y": 0, "width": wide, "height": high, "scale": 1}
        picture = self.browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(self.picture.replace(".png", ending + ".png"), "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def key(self, key, code, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                              modifiers=modifiers, **text)

    def quiet(self, url, allowed=()):
        # Reading pixels is this script's own doing.
        events = [e for e in self.browser.events if "getImageData" not in json.dumps(e)]
        wrong = [e for e in events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
                 or (e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "warning"))]
        wrong = [e for e in wrong if not any(word in json.dumps(e) for word in allowed)]
        self.hold(not wrong, f"the console is silent {wrong or ''}")
        asked = {e["params"]["request"]["url"] for e in events if e.get("method") == "Network.requestWillBeSent"}
        far = [a for a in asked if not a.startswith((url + "/", "about:"))]
        self.hold(not far, f"nobody but the server is asked {far or ''}")
        self.browser.events = []


TILE = "[...document.querySelectorAll('#tiles div')].find(d => d.firstChild.textContent === %r)?.lastChild.textContent"


def fill(name, text):
    return f"(() => {{ const e = document.getElementById({name!r}); e.focus(); e.value = {text!r}; }})()"


def look(check, server):
    browser, ask = check.browser, check.browser.ask
    server.ask("PUT", "/v1/models/ice-cream", {"loss": "logistic", "learner": "auto", "bits": 10})
    server.ask("PUT", "/v1/models/coats", {"loss": "logistic", "learner": "projected-ogd", "radius": 5, "bits": 10})
    server.ask("PUT", "/v1/models/numbers", {"loss": "square", "learner": "adagrad"})
    for turned in (False, True):
        examples = list(stream(1 + turned, 3000, turned))
        for k in range(0, 3000, 100):
            server.ask("POST", "/v1/models/ice-cream/learn", {"examples": examples[k:k + 100]})
            server.ask("POST", "/v1/models/coats/learn", {"examples": examples[k:k + 100]})
    server.ask("POST", "/v1/models/ice-cream/learn", {"features": {"temperature": "warm"}})
    server.ask("POST", "/v1/models/ice-cream/predict", {"features": {"temperature": 1e999}})
    server.ask("POST", "/v1/models/ice-cream/learn", {"features": {"temperature": 3}, "label": "maybe"})
    check.open(server.url + "/#ice-cream")
    server.ask("PUT", "/v1/models/several", {"multiclass": "softmax", "bits": 10})
    for example in stream(7, 300):
        example["label"] = example["features"].pop("city")
        server.ask("POST", "/v1/models/several/learn", example)
    check.until("document.querySelectorAll('#models a').length === 4", "the models are listed")
    check.until(TILE % "examples" + " === '6,000'", "the examples are counted")
    check.until("document.getElementById('model').getBoundingClientRect().height > 1000", "the model is in sight")
    check.until("document.querySelectorAll('#heaviest tbody tr').length > 3", "the heaviest features are told")
    check.until("document.querySelectorAll('#errors li code').length === 3", "recent errors are told")
    check.until("document.querySelectorAll('#since tbody tr').length === 5", "the regret of late is told")
    check.until("Number(document.documentElement.dataset.charts) === 3", "three charts are there")
    browser.ask(SETTLE)
    before = ask(INK)
    check.hold(before and all(ink > 500 for ink in before), f"and have drawn marks: {before}")
    check.hold(ask("document.querySelectorAll('h1').length") == 1, "one main heading")
    unnamed = ask("[...document.querySelectorAll('input, textarea, button')].filter(e => !(e.labels?.length || e.textContent.trim())).length")
    check.hold(unnamed == 0, "every field and button has a name")
    check.shot()

    # Live.
    server.ask("POST", "/v1/models/ice-cream/learn", next(stream(5, 1)))
    check.until(TILE % "examples" + " === '6,001'", "an example that somebody else teaches shows up", 5)
    check.until("document.querySelector('#models a[aria-current] small').textContent.startsWith('6,001')", "and in the list", 5)
    for example in stream(6, 400):
        server.ask("POST", "/v1/models/ice-cream/learn", example)
    check.until(TILE % "examples" + " === '6,401'", "many more show up", 5)
    check.until(f"JSON.stringify({INK}) !== {json.dumps(json.dumps(before, separators=(',', ':')))}", "the curves go on")

    # The forms, by the keyboard alone: Enter in the label's field sends.
    ask(fill("predict-features", "temperature: 30\ncity: Rome"))
    check.key("Tab", 9)
    check.hold(ask("document.activeElement.textContent") == "Predict", "Tab leads to the button")
    check.key("Enter", 13)
    check.until("/^Label -?1, score/.test(document.getElementById('predicted').textContent)", "a prediction can be made")
    print("      " + ask("document.getElementById('predicted').textContent"))
    ask(fill("teach-features", '{"temperature": 30, "city": "Rome"}'))
    ask(fill("teach-label", "1"))
    check.key("Enter", 13)
    check.until("document.getElementById('taught').textContent.startsWith('Learned')", "an example can be taught")
    check.until(TILE % "examples" + " === '6,402'", "and counts", 5)
    ask(fill("teach-label", "perhaps"))
    check.key("Enter", 13)
    check.until("document.getElementById('taught').className === 'bad'", "a bad label is refused in the server's words")
    print("      " + ask("document.getElementById('taught').textContent"))
    ask("document.querySelector('input[value=time]').click()")
    browser.ask(SETTLE)
    check.hold(all(ink > 500 for ink in ask(INK)), "the curves can be seen over time")

    ask("document.querySelector('.skip').focus()")
    check.key("Enter", 13)
    kept = ask("document.activeElement.id + ' ' + document.getElementById('name').textContent")
    check.hold(kept == "main ice-cream", "the list can be skipped, and the model stays")
    ask("location.hash = '%'")
    check.until("document.getElementById('name').textContent === 'coats'", "an address that means nothing shows the first model")

    # Another model: by a link that has the focus.
    ask("[...document.querySelectorAll('#models a')].find(a => a.hash === '#numbers').focus()")
    check.key("Enter", 13)
    check.until("document.getElementById('name').textContent === 'numbers'", "another model can be chosen by the keyboard")
    ask("location.hash = 'several'")
    check.until("document.getElementById('about').textContent.startsWith('4 classes (softmax)')", "several classes are told")
    check.until(TILE % "examples" + " === '300' && " + TILE % "regret, at most" + " !== '–'", "with their certificate")
    check.until("[...document.querySelectorAll('#heaviest td')].some(e => e.textContent === 'Rome: temperature')", "and heaviest features")
    ask(fill("predict-features", "temperature: 30"))
    check.key("Tab", 9)
    check.key("Enter", 13)
    check.until("/^Label (Rome|Oslo|Lima|Cairo), score .* Then /.test(document.getElementById('predicted').textContent)", "one is predicted")
    ask("location.hash = 'coats'")
    check.until("document.getElementById('name').textContent === 'coats'", "or by its address")
    check.until(TILE % "its bound" + " !== '–'", "its bound is told")
    ask("document.querySelector('input[value=examples]').click()")
    check.until(f"{INK}.every(ink => ink > 500)", "and drawn")
    ask("document.getElementById('theme').click()")
    browser.ask(SETTLE)
    check.hold(ask("document.documentElement.dataset.theme") == "dark", "the theme changes")
    check.shot("-dark")
    ask("location.hash = 'numbers'")
    check.until("document.getElementById('name').textContent === 'numbers'", "a model without examples is shown")
    check.shot("-empty")
    ask("location.hash = 'ice-cream'")
    check.until("document.getElementById('name').textContent === 'ice-cream' && document.querySelectorAll('.uplot').length === 3", "and back")
    ask("document.getElementById('theme').click()")
    check.size(380, 800, True)
    browser.ask(SETTLE)
    wide = ask("document.documentElement.scrollWidth")
    check.hold(wide <= 380, f"it fits a phone: {wide} of 380 pixels")
    check.hold(ask("document.getElementById('since').offsetWidth <= document.querySelector('.scroll').clientWidth"), "and so does its table")
    check.hold(all(ink > 500 for ink in ask(INK)), "and draws there")
    check.shot("-phone")
    check.quiet(server.url, ["status of 400"])

    # A server that goes away and comes back.
    server.ask("DELETE", "/v1/models/ice-cream")
    check.until("document.getElementById('name').textContent === 'coats'", "a model that is deleted is left")
    server.stop()
    check.until("!document.getElementById('link').hasAttribute('data-up')", "that the server is away is told")
    browser.events = []


def look_with_tokens(check, program, folder):
    ask = check.browser.ask
    tokens = os.path.join(folder, "tokens")
    token = {}
    for role in ("read", "admin"):
        made = subprocess.run([program, "serve", "--new-token", role, "--token-file", tokens], check=True, text=True, stdout=subprocess.PIPE)
        token[role] = made.stdout.strip()
    server = Server(program, os.path.join(folder, "secured"), "--token-file", tokens)
    try:
        server.ask("PUT", "/v1/models/m", {}, token["admin"])
        server.ask("POST", "/v1/models/m/learn", next(stream(1, 1)), token["admin"])
        check.open(server.url + "/")
        check.until("document.getElementById('ask').open", "where there are tokens the page asks for one")
        check.shot("-token")
        ask(fill("token", "wrong"))
        check.key("Enter", 13)
        check.until("document.getElementById('refused').textContent !== ''", "a wrong one is refused")
        ask(fill("token", token["read"]))
        check.key("Enter", 13)
        check.until(TILE % "examples" + " === '1' && !document.getElementById('model').hidden", "a good one opens it")
        ask(fill("teach-features", "temperature: 1"))
        ask(fill("teach-label", "1"))
        check.key("Enter", 13)
        check.until("document.getElementById('taught').textContent.includes('needs `learn`')", "what the token does not allow is told")
        kept = ask("JSON.stringify([Object.values(localStorage), Object.values(sessionStorage), document.cookie, document.documentElement.outerHTML])")
        check.hold(token["read"] not in kept, "the token is kept nowhere but in memory")
        check.quiet(server.url, ["status of 401", "status of 403"])
    finally:
        server.stop()


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    program = next((p for p in map(shutil.which, ["chromium", "chromium-browser", "google-chrome"]) if p), None)
    if program is None:
        print("check_server: skipped, no Chromium here")
        return 0
    noregret = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, os.path.join(folder, "browser"))
        server = Server(noregret, os.path.join(folder, "data"))
        try:
            check = Check(browser, sys.argv[2] if len(sys.argv) > 2 else None)
            look(check, server)
            look_with_tokens(check, noregret, folder)
            return 1 if check.faults else 0
        finally:
            server.stop()
            browser.process.terminate()
            browser.process.wait()


if __name__ == "__main__":
    sys.exit(main())
