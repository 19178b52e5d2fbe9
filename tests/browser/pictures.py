#!/usr/bin/env python3
"""Takes the pictures of the documents, from a demo store of 10,000 products and 20,000 orders.

A host serves it for an hour of API requests, which takes a minute: libfaketime moves only the clock
of the host. Needs Chromium and its driver, which tests/browser/prepare.sh installs, the
package faketime of Debian, and a release build. A page and a look are added in PICTURES.
"""

import base64
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target/release/example-host")
PASSWORD = "correct horse battery"
SIZES = {"desk": (1280, 800), "phone": (390, 844)}
MINUTES = 60

TOKEN = "/users/2/token"
WHY = "/permissions/why?user=manager&action=store.view&asset=com_shop.products"
PARAMETERS = "/extensions/webservices-shop/parameters"
LIST = "/api/webservices-shop/products.list"
RECORDS = "/records/webservices-shop"
WRONG = {"/product_name": " ", "/price": "cheap"}

# The name of each picture, and how to get it: a page, the fields to fill in, and the button to press.
PICTURES = [
    ("dashboard-desk-light", "/", {}, None),
    ("dashboard-phone-dark", "/", {}, None),
    ("permissions-desk-light", "/permissions?asset=com_shop", {}, None),
    ("why-answered-phone-light", WHY, {}, None),
    ("extension-parameters-desk-light", PARAMETERS, {}, None),
    ("api-tried-desk-dark", LIST, {"query-page[limit]": "2"}, "Send"),
    ("user-token-made-phone-dark", TOKEN, {}, "Generate"),
    ("orders-desk-light", f"{RECORDS}/orders", {}, None),
    ("orders-phone-dark", f"{RECORDS}/orders", {}, None),
    ("order-desk-dark", f"{RECORDS}/orders/7", {}, None),
    ("order-phone-light", f"{RECORDS}/orders/7", {}, None),
    ("product-faulty-desk-light", f"{RECORDS}/products/7/edit", WRONG, "Save"),
    ("search-desk-light", "/search?q=heron", {}, None),
    ("search-phone-dark", "/search?q=heron", {}, None),
    ("second-factor-desk-light", "/account/second-factor", {}, None),
    ("second-factor-phone-dark", "/account/second-factor", {}, None),
    ("privacy-found-desk-light", "/privacy", {"email": "customer7@example.com"}, "Find"),
    ("import-desk-light", "/import", {}, None),
    ("export-phone-dark", "/export", {}, None),
]


def call(url, body=None, method=None, headers=None):
    """Sends a request, and returns the status and the text of its answer, whatever they are."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


class Site:
    """A demo store, served by a host whose clock is moved."""

    def __init__(self, folder):
        self.clock = folder / "clock"
        self.clock.write_text(f"-{MINUTES}m")
        self.database = ["--database", f"sqlite://{folder}/host.db"]
        self.run("demo", "--products", "10000", "--orders", "20000")
        self.user("superuser", "Super Users")
        self.user("manager", "Manager")
        self.token = self.run("token", "generate", "manager").strip()
        library = subprocess.run(
            ["faketime", "2020-01-01", "printenv", "LD_PRELOAD"],
            check=True, capture_output=True, text=True,
        ).stdout.strip()
        clock = {
            "LD_PRELOAD": library,
            "FAKETIME_TIMESTAMP_FILE": str(self.clock),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.host = subprocess.Popen(
            [HOST, *self.database, "serve", "--listen", "127.0.0.1:0"],
            env=os.environ | clock | {"HOST_LOG": "info,access=off", "HOST_LOG_FORMAT": "text"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        self.origin = next(
            found.group(1)
            for line in self.host.stderr
            if (found := re.search(r"listening on (http://[0-9.:]+)", line))
        )

    def run(self, *command, given=None):
        done = subprocess.run(
            [HOST, *self.database, *command],
            check=True, input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        return done.stdout

    def user(self, name, group):
        email = ["--email", f"{name}@example.com"]
        self.run("user", "add", name, *email, "--group", group, "--password-stdin", given=PASSWORD)

    def ask(self, path, method=None, body=None, token=None):
        headers = {
            "accept": "application/vnd.api+json",
            "authorization": f"Bearer {token or self.token}",
        }
        return call(f"{self.origin}/api/index.php/v1/shop{path}", body, method, headers)

    def serve_an_hour(self):
        """Asks like the programs of a shop do, a different number in each minute, some wrongly."""
        chance = random.Random(20)
        paths = ["/products", "/orders?page[limit]=50", "/customers", "/inventory/7", "/vouchers"]
        for minute in range(MINUTES, -1, -1):
            self.clock.write_text(f"-{minute}m" if minute else "+0")
            busy = 1 + (minute // 12) % 3
            for _ in range(busy * 3 + chance.randrange(5)):
                self.ask(chance.choice(paths))
            for _ in range(max(0, chance.randrange(6) - 3)):
                chance.choice([
                    lambda: self.ask("/products/7", method="DELETE"),
                    lambda: self.ask("/orders", token="expired"),
                    lambda: self.ask("/manufacturers", body={"manufacturer_name": ""}),
                    lambda: self.ask("/products?filter[manufacturer]=Lumen"),
                ])()


class Browser:
    """Chromium through its driver, at one size and in one colour."""

    def __init__(self, origin, size, dark):
        self.origin = origin
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        port = next(
            found.group(1)
            for line in self.driver.stdout
            if (found := re.search(r"successfully on port (\d+)", line))
        )
        width, height = SIZES[size]
        arguments = [
            "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync",
            f"--window-size={width},{height}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        ]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
        self.session = f"http://127.0.0.1:{port}/session"
        made = self.command("", {"capabilities": {"alwaysMatch": wanted}})
        self.session += f"/{made['sessionId']}"
        # An element of the next page is waited for.
        self.command("/timeouts", {"implicit": 10_000})
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", screen)

    def command(self, path, body):
        status, text = call(f"{self.session}{path}", body)
        if status != 200:
            raise SystemExit(f"{path}: {text}")
        return json.loads(text)["value"]

    def devtools(self, name, values):
        return self.command("/goog/cdp/execute", {"cmd": name, "params": values})

    def goto(self, path):
        self.command("/url", {"url": f"{self.origin}/administrator{path}"})

    def find(self, kind, what):
        found = self.command("/element", {"using": kind, "value": what})
        return f"/element/{next(iter(found.values()))}"

    def fill(self, name, text):
        element = self.find("css selector", f"[name='{name}']")
        self.command(f"{element}/clear", {})
        self.command(f"{element}/value", {"text": text})

    def press(self, label):
        button = self.find("xpath", f"//main//button[starts-with(normalize-space(.), '{label}')]")
        self.command(f"{button}/click", {})

    def sign_in(self):
        self.goto("/")
        self.fill("username", "superuser")
        self.fill("password", PASSWORD)
        self.press("Sign in")
        self.find("css selector", "nav [aria-current]")

    def picture(self):
        taken = self.devtools("Page.captureScreenshot", {"format": "webp", "quality": 80})
        return base64.b64decode(taken["data"])

    def close(self):
        call(self.session, method="DELETE")
        self.driver.terminate()


def main():
    pictures = ROOT / "example-host/pictures"
    with tempfile.TemporaryDirectory() as folder:
        site = Site(pathlib.Path(folder))
        try:
            site.serve_an_hour()
            for name, path, fields, press in PICTURES:
                *_, size, colour = name.split("-")
                browser = Browser(site.origin, size, colour == "dark")
                browser.sign_in()
                browser.goto(path)
                for field, text in fields.items():
                    browser.fill(field, text)
                if press:
                    browser.press(press)
                    time.sleep(1)
                (pictures / f"{name}.webp").write_bytes(browser.picture())
                browser.close()
        finally:
            site.host.terminate()
            site.host.wait()


if __name__ == "__main__":
    main()
