# SPDX-License-Identifier: Apache-2.0
"""The demo page in a real browser, in the words of its visitors."""

import os
import shutil
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 20


def start_browser():
    """A headless Chromium with its own driver; calm, so that nothing is caught in the middle of a movement."""
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
    """Waits until `condition()` is true; fails with `what` was waited for."""
    wait = WebDriverWait(driver, timeout, 0.05, ignored_exceptions=[StaleElementReferenceException])
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
        return self.driver.find_elements(By.CSS_SELECTOR, f"{person} [data-testid={testid}]")

    def texts(self, testid):
        return [part.get_property("textContent") for part in self.parts(testid)]

    def press(self, testid):
        self.part(testid).click()

    def say(self, text):
        self.part("composer-text").send_keys(text, Keys.ENTER)

    def type(self, text):
        self.part("composer-text").send_keys(text)

    def shows(self, testid):
        return any(part.is_displayed() for part in self.parts(testid))

    def sees_online(self):
        """What this person sees of the other: True, False, or None before anything was heard."""
        return {"true": True, "false": False}.get(self.part("peer-presence").get_attribute("data-online"))

    def connection(self):
        return self.texts("connection")[0]

    def has_switched_focus_on(self):
        return self.part("focus-switch").get_attribute("aria-checked") == "true"


class Page:
    """The page with both people connected, in a tab and so in a place of its own."""

    def __init__(self, driver, url):
        self.driver = driver
        self._opener = driver.current_window_handle
        driver.switch_to.new_window("tab")
        driver.get(url)
        self.alice = Panel(driver, "Alice")
        self.bob = Panel(driver, "Bob")
        self.wait_for_both()

    def close(self):
        self.driver.close()
        self.driver.switch_to.window(self._opener)

    def wait_for_both(self):
        for panel in (self.alice, self.bob):
            self.eventually(f"{panel.name} is connected and sees the other", lambda: panel.sees_online() is True)

    def eventually(self, what, condition, timeout=PATIENCE):
        return eventually(self.driver, what, condition, timeout)

    def console_errors(self):
        """What the console has shown in red since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def picture(self, name):
        """Saves a screenshot where STILLWIRE_SCREENSHOTS says, if it does."""
        if folder := os.environ.get("STILLWIRE_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))
