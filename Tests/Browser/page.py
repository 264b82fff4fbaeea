# SPDX-License-Identifier: Apache-2.0
"""The demo page in a real browser. Methods have the names of a visitor's actions. Depends on selenium and served.py."""

import os
import shutil
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import (
    ElementNotInteractableException,
    StaleElementReferenceException,
    TimeoutException,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from served import Served

PATIENCE = 60
#: The page replaces its elements when something changes, and lays out a new element a moment later.
CHANGING = [StaleElementReferenceException, ElementNotInteractableException]


def start_browser():
    """Starts a headless Chromium with its own driver. It has no animations, so that tests never see one in progress."""
    options = webdriver.ChromeOptions()
    options.add_argument("--headless=new")
    options.add_argument("--disable-gpu")
    options.add_argument("--force-prefers-reduced-motion")
    options.add_argument("--window-size=1440,1000")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    if browser := shutil.which("chromium"):
        options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def eventually(driver, what, condition, timeout=PATIENCE):
    """Waits until `condition()` is true. A failure names `what` did not happen."""
    wait = WebDriverWait(driver, timeout, 0.05, ignored_exceptions=CHANGING)
    try:
        return wait.until(lambda _: condition())
    except TimeoutException:
        raise AssertionError(f"within {timeout} s: {what}") from None


class Panel:
    """One person's panel on the page."""

    def __init__(self, driver, name):
        self.driver = driver
        self.name = name

    def part(self, testid):
        (found,) = self.parts(testid)
        return found

    def parts(self, testid):
        person = f"[data-testid=person-{self.name.lower()}]"
        return self.driver.find_elements(By.CSS_SELECTOR, f"{person} [data-testid=\"{testid}\"]")

    def texts(self, testid):
        return [part.get_property("textContent") for part in self.parts(testid)]

    def press(self, testid):
        """Presses a control, and again if the page replaces its element between the search and the press."""
        eventually(self.driver, f"{testid} can be pressed", lambda: self.part(testid).click() is None)

    def say(self, text):
        self.part("composer-text").send_keys(text, Keys.ENTER)

    def type(self, text):
        self.part("composer-text").send_keys(text)

    def shows(self, testid):
        return any(part.is_displayed() for part in self.parts(testid))

    def sees_online(self):
        """Returns the other person's presence as this person sees it: True, False, or None if it is unknown."""
        return {"true": True, "false": False}.get(self.part("peer-presence").get_attribute("data-online"))

    def choose(self, testid):
        """Ticks a box or selects a choice by a click on its label."""

        def pick():
            self.part(testid).find_element(By.XPATH, "./ancestor::label").click()
            return True

        eventually(self.driver, f"{testid} can be chosen", pick)

    def is_chosen(self, testid):
        return self.part(testid).is_selected()

    def open_settings(self):
        self.press("settings")

    def notifications(self):
        return self.texts("notification-body")


class Page:
    """The page in its own tab, and so in its own place, after all people are connected."""

    def __init__(self, driver, url, path=""):
        self.driver = driver
        self._opener = driver.current_window_handle
        driver.switch_to.new_window("tab")
        driver.get(f"{url}/{path}")
        self.alice = Panel(driver, "Alice")
        self.bob = Panel(driver, "Bob")
        self.carol = Panel(driver, "Carol")
        # A link to a step plays the story at once, so Bob may be away before the first look.
        if not path.startswith("#/"):
            self.wait_for_both()

    @property
    def origin(self):
        return self.driver.execute_script("return location.origin")

    @property
    def place(self):
        return self.driver.current_url.partition("#")[2]

    def user(self, panel):
        """Returns the user id of this person."""
        return f"{panel.name.lower()}-{self.place}"

    def add_carol(self):
        self.press("add-carol")
        self.eventually("Carol is connected", lambda: self.carol.sees_online() is True)

    def press(self, testid):
        """Presses a control of the page, as `Panel.press` does."""
        self.eventually(f"{testid} can be pressed", lambda: self.find(testid).click() is None)

    def find(self, testid):
        return self.driver.find_element(By.CSS_SELECTOR, f"[data-testid=\"{testid}\"]")

    def story_step(self):
        """Returns the number of finished steps of the story."""
        return int(self.find("story").get_attribute("data-step") or 0)

    def end(self, seq, panel, testid):
        """Returns texts of the relay's view about one message and one recipient: those of the parts with this name."""
        way = f'[data-testid=trace][data-seq="{seq}"] [data-to={panel.name.lower()}] [data-testid={testid}]'
        return [part.get_property("textContent") for part in self.driver.find_elements(By.CSS_SELECTOR, way)]

    def close(self):
        self.driver.close()
        self.driver.switch_to.window(self._opener)

    def wait_for_both(self):
        for panel in (self.alice, self.bob):
            self.eventually(
                f"{panel.name} is connected and sees the other",
                lambda: panel.parts("peer-presence") and panel.sees_online() is True,
            )

    def eventually(self, what, condition, timeout=PATIENCE):
        return eventually(self.driver, what, condition, timeout)

    def console_errors(self):
        return console_errors(self.driver)

    def picture(self, name):
        picture(self.driver, name)


def console_errors(driver):
    """Returns the errors that the console has shown since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def picture(driver, name):
    """Saves a screenshot in the folder that STILLWIRE_SCREENSHOTS names, if it is set."""
    if folder := os.environ.get("STILLWIRE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        driver.save_screenshot(str(Path(folder) / f"{name}.png"))


class BrowserTests(unittest.TestCase):
    """Tests with their own relay and browser."""

    #: The type of the relay: it has a `url` and `stop()`.
    serve = Served

    @classmethod
    def setUpClass(cls):
        cls.relay = cls.serve()
        cls.addClassCleanup(cls.relay.stop)
        cls.driver = start_browser()
        cls.addClassCleanup(cls.driver.quit)

    def open_page(self, path=""):
        page = Page(self.driver, self.relay.url, path)
        self.addCleanup(page.close)
        return page


class PageTests(BrowserTests):
    """Tests of the page with Alice and Bob. They fail if the console shows an error."""

    def setUp(self):
        self.page = self.open_page()
        self.alice, self.bob, self.carol = self.page.alice, self.page.bob, self.page.carol
        self.eventually = self.page.eventually

    def tearDown(self):
        self.assertEqual(self.page.console_errors(), [], "the console shows errors")

    def wait_for_messages(self, panel, *texts):
        self.eventually(f"{panel.name} has the messages {texts}", lambda: panel.texts("message-text") == list(texts))

    def wait_for_notifications(self, panel, *texts):
        self.eventually(f"{panel.name}'s phone shows {texts}", lambda: panel.notifications() == list(texts))

    def wait_for_focus(self):
        self.eventually("Alice learns of Bob's Focus", lambda: self.alice.shows("focus-notice"))

    def send_away(self, panel, witness):
        panel.press("go-away")
        # Shorter than the relay's grace of 10 s, so the session must have ended cleanly.
        self.eventually(f"{witness.name} sees {panel.name} away", lambda: witness.sees_online() is False, 7)
        self.eventually(f"{panel.name}'s phone is locked", lambda: panel.shows("lock-screen"))
