# SPDX-License-Identifier: Apache-2.0
"""Tests that everybody can use the page: accessibility with axe-core, keyboard, content security policy and size."""

import unittest
from pathlib import Path

import axe_core_python
from page import PageTests
from selenium.webdriver.common.keys import Keys

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
RUN_AXE = """
const done = arguments[0]
axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations.map(
  ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`
)), (error) => done([String(error)]))
"""
#: Maximum size on the wire of the files that the page loads at its start. Files that it loads later do not count. A third
#: of it is the client, whose rules for wrong clocks, slow lines and short outages need their bytes.
MAX_BYTES = 108_000
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
DESKTOP = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}


class QualityTests(PageTests):
    def show(self, scheme, metrics):
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        # Waits until the new layout is drawn, and all transitions have ended.
        self.driver.execute_async_script("""
          const done = arguments[0]
          requestAnimationFrame(() => requestAnimationFrame(() =>
            Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))).then(() => done())))
        """)

    def assert_accessible(self):
        self.driver.execute_script(AXE)
        self.assertEqual(self.driver.execute_async_script(RUN_AXE), [])

    def assert_fits(self):
        wide = self.driver.execute_script(
            "const { scrollWidth, clientWidth } = document.documentElement; return scrollWidth - clientWidth"
        )
        self.assertLessEqual(wide, 0, "the page scrolls sideways")

    def test_the_page_fits_every_width(self):
        for people in (2, 3):
            if people == 3:
                self.page.add_carol()
            for width in (320, 390, 600, 760, 761, 900, 1000, 1081, 1160, 1241, 1440, 1920):
                with self.subTest(width=width, people=people):
                    self.show("light", DESKTOP | {"width": width})
                    self.assert_fits()

    def check(self, scheme):
        """Checks a state of the page that shows most of its parts at once."""
        self.show(scheme, DESKTOP)
        self.page.add_carol()
        for panel in (self.alice, self.bob, self.carol):
            panel.open_settings()
        self.bob.choose("mode-work")
        self.wait_for_focus()
        self.send_away(self.bob, self.carol)
        self.alice.press("send-invitation")
        self.wait_for_notifications(self.bob, "Dinner on Friday?")
        self.alice.press("send-call")
        self.eventually("it rings", lambda: self.carol.shows("call"))
        self.page.press("wire-toggle")
        self.eventually("the linter has a result", lambda: "object" in "".join(self.page.end(1, self.bob, "linter")))
        self.page.press("linter")
        for device, metrics in (("desktop", DESKTOP), ("phone", PHONE)):
            with self.subTest(device=device):
                self.show(scheme, metrics)
                self.assert_accessible()
                self.assert_fits()
                self.page.picture(f"{scheme}-{device}")

    def test_the_light_page_is_accessible(self):
        self.check("light")

    def test_the_dark_page_is_accessible(self):
        self.check("dark")

    def test_the_keyboard_reaches_every_control(self):
        """Presses only the tab key, once through the page. A group of choices has one stop."""
        self.bob.choose("mode-work")
        self.bob.open_settings()
        self.eventually("the people are shown", lambda: self.bob.parts("allows-alice"))
        names = """
          const visible = (node) => node.checkVisibility({ visibilityProperty: true }) && !node.closest('[inert], :disabled')
          return [...document.querySelectorAll('button, input:not([type=radio]), a[href], summary')].filter(visible).map(
            (node) => (node.closest('person-panel')?.dataset.person ?? '') + (node.dataset.testid ?? node.textContent))
        """
        wanted = set(self.driver.execute_script(names))
        self.assertGreater(len(wanted), 30)
        reached = set()
        for _ in range(2 * len(wanted)):
            self.driver.switch_to.active_element.send_keys(Keys.TAB)
            reached.add(
                self.driver.execute_script(
                    """
                    const node = document.activeElement
                    return (node.closest('person-panel')?.dataset.person ?? '') + (node.dataset.testid ?? node.textContent)
                    """
                )
            )
        self.assertEqual(wanted - reached, set())

    def test_the_keyboard_focus_moves_when_a_control_disappears(self):
        def focused():
            return self.driver.execute_script("return document.activeElement.dataset.part ?? document.activeElement.tagName")

        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.bob.press("go-away")
        self.assertEqual(focused(), "come-back")
        self.alice.press("send-invitation")
        self.wait_for_notifications(self.bob, "Dinner on Friday?")
        self.eventually("Alice may notify anyway", lambda: self.alice.shows("notify-anyway"))
        self.alice.press("notify-anyway")
        self.assertEqual(focused(), "text")
        self.bob.press("demo.accept")
        self.assertEqual(focused(), "stacks")
        self.bob.press("come-back")
        self.assertEqual(focused(), "text")
        self.page.press("next")
        self.assertEqual(focused(), "next")

    def test_nothing_breaks_the_policy(self):
        self.bob.choose("mode-work")
        self.wait_for_focus()
        self.page.press("wire-toggle")
        self.page.add_carol()
        self.eventually("the frames are shown", lambda: self.driver.find_elements("css selector", "[data-testid=wire-entry]"))
        violations = self.driver.execute_async_script("""
          const done = arguments[0]
          const seen = []
          new ReportingObserver((reports) => seen.push(...reports.map(({ body }) => body.effectiveDirective)), {
            types: ['csp-violation'], buffered: true,
          }).observe()
          // This violation is intended. The observer reports earlier ones before it.
          addEventListener('securitypolicyviolation', () => setTimeout(() => done(seen), 100), { once: true })
          document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.org/', hidden: true }))
        """)
        self.assertEqual(violations, ["img-src"])
        self.assertTrue(all("example.org" in entry for entry in self.page.console_errors()))
        outside = self.driver.execute_script("""
          return performance.getEntriesByType('resource').map(({ name }) => name)
            .filter((name) => !name.startsWith(location.origin) && !name.includes('example.org'))
        """)
        self.assertEqual(outside, [])

    def test_the_page_is_small(self):
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        self.driver.refresh()
        self.page.wait_for_both()
        files = self.driver.execute_script("""
          return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
            .filter(({ name }) => !name.includes('/v1/'))
            .map(({ name, transferSize, encodedBodySize }) => [name, encodedBodySize])
        """)
        total = sum(size for _, size in files)
        self.assertGreater(total, 10_000, files)
        self.assertLess(total, MAX_BYTES, files)
        (paint,) = self.driver.execute_script(
            "return performance.getEntriesByName('first-contentful-paint').map(({ startTime }) => startTime)"
        )
        print(f"{total} bytes in {len(files)} files; first contentful paint after {paint:.0f} ms")


if __name__ == "__main__":
    unittest.main()
