"""A report that is open in a real browser."""

import base64
import io
import shutil
import time

import numpy as np
from PIL import Image

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1280,1000"
)
MISSING = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


class Page:
    """A page that is open, and what a reader does with it."""

    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, path, width=1280, dark=False, address="", media=""):
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        look = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [look]})
        self.driver.get("about:blank")  # an address that differs in its fragment alone would not load the page again
        self.driver.get(path.as_uri() + address)
        self.run("document.querySelector('.stage canvas').scrollIntoView({block: 'center'})")
        self.rest()
        return self

    def state(self, place=0):
        return self.run("return kappagcnView.state(arguments[0])", place)

    def positions(self, place=0):
        return self.run("return kappagcnView.positions(arguments[0])", place)

    def at(self, place=0):
        return np.array([each["at"] for each in self.positions(place)])

    def screen(self, node, place=0):
        return np.array(self.positions(place)[node]["screen"])

    def pixels(self, place=0, x=0, y=0, width=0, height=0):
        """Colours of a part of a canvas, or of all of it, (height, width, 4)."""
        content = self.run(
            "const c = document.querySelectorAll('.stage canvas')[arguments[0]], [x, y, w, h] = arguments[1];"
            "const part = document.createElement('canvas'); [part.width, part.height] = [w || c.width, h || c.height];"
            "part.getContext('2d').drawImage(c, -x, -y); return part.toDataURL().split(',')[1]",
            place,
            [x, y, width, height],
        )
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(content)))).astype(int)

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()
        self.rest()

    def button(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)
        self.rest()

    def rest(self):
        """Wait for the end of a journey and of a frame."""
        end = time.monotonic() + 5
        while self.state()["travelling"] and time.monotonic() < end:
            time.sleep(0.03)
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 30))")

    def pointer(self, *steps, place=0):
        """Steps: pixels of a canvas to go to, "down" or "up"."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        box = self.run(
            "const b = document.querySelectorAll('.stage canvas')[arguments[0]].getBoundingClientRect();"
            "return [b.left, b.top]",
            place,
        )
        builder = ActionBuilder(self.driver, duration=20)
        for step in steps:
            if isinstance(step, str):
                getattr(builder.pointer_action, f"pointer_{step}")()
            else:
                builder.pointer_action.move_to_location(*(round(float(a + b)) for a, b in zip(box, step, strict=True)))
        builder.perform()

    def click(self, node, place=0):
        self.pointer(self.screen(node, place), "down", "up", place=place)
        self.pointer((3, 3), place=place)
        self.rest()

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def type(self, words):
        from selenium.webdriver.common.by import By

        box = self.driver.find_element(By.ID, "search")
        box.clear()
        box.send_keys(words)
        self.rest()

    def errors(self):
        return [line for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]
