# SPDX-License-Identifier: Apache-2.0
"""The documentation at /docs, as a newcomer reads it: on every screen, without a mouse, by links that all lead somewhere."""

import os
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from page import start_browser
from served import WEB, Served

DOCS = WEB / "docs"
PAGES = sorted(file.stem for file in DOCS.glob("*.html"))
PHONE = (390, 844)
DESKTOP = (1440, 1000)

#: What a page has that readers and their tools go by; what is wrong with it, in words.
FAULTS = """
const faults = []
const text = (node) => node.textContent.trim()
const one = (selector) => {
  const found = document.querySelectorAll(selector)
  if (found.length !== 1) faults.push(`${found.length} times ${selector}`)
}
for (const selector of ['h1', 'main', 'header', 'footer', 'nav.pages', 'nav.pages [aria-current=page]']) one(selector)
if (!document.documentElement.lang) faults.push('no lang')
if (!document.title.endsWith(' – Stillwire')) faults.push(`title ${document.title}`)
if (!text(document.querySelector('h1'))) faults.push('an empty h1')
let last = 1
for (const heading of document.querySelectorAll('article :is(h1, h2, h3, h4, h5, h6)')) {
  const level = Number(heading.localName[1])
  if (level > last + 1) faults.push(`after a heading ${last} comes ${level}: ${text(heading)}`)
  if (!heading.id) faults.push(`no way to link to ${text(heading)}`)
  last = level
}
const ids = [...document.querySelectorAll('[id]')].map((node) => node.id)
for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) faults.push(`twice the id ${id}`)
for (const nav of document.querySelectorAll('nav')) {
  const label = nav.getAttribute('aria-label') ?? document.getElementById(nav.getAttribute('aria-labelledby') ?? '')
  if (!label) faults.push('a nav without a name')
}
for (const image of document.querySelectorAll('img')) {
  if (!image.hasAttribute('alt')) faults.push(`no words for ${image.src}`)
  if (!image.naturalWidth) faults.push(`${image.src} does not show`)
}
for (const link of document.querySelectorAll('a')) {
  if (!text(link) && !link.getAttribute('aria-label')) faults.push(`a link without a name to ${link.href}`)
}
for (const table of document.querySelectorAll('table')) {
  if (!table.querySelector('th')) faults.push(`a table without headers: ${text(table).slice(0, 60)}`)
  for (const header of table.querySelectorAll('th')) {
    if (!header.scope) faults.push(`a header of nothing: ${text(header)}`)
    if (!text(header)) faults.push('an empty header')
  }
}
for (const node of document.querySelectorAll('[style], style, script')) faults.push(`not a page's own: ${node.outerHTML}`)
// A proxy may serve the relay below any path.
for (const node of document.querySelectorAll('[href^="/"], [src^="/"]')) faults.push(`from the root: ${node.outerHTML}`)
for (const node of document.querySelectorAll('pre, .scroller')) {
  if (node.scrollWidth > node.clientWidth && node.tabIndex !== 0) faults.push(`out of a keyboard's reach: ${text(node)}`)
}
return faults
"""

#: Contrast of all texts with what is behind them, as WCAG 2.2 counts it: those below 4.5 to 1.
FAINT = """
const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number)
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0)
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const color = channels(getComputedStyle(at).backgroundColor)
    if (color.length === 3 || color[3] === 1) return color
  }
  return [255, 255, 255]
}
const faint = new Set()
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement
  if (!walker.currentNode.data.trim() || !node.checkVisibility({ checkVisibilityCSS: true })) continue
  const [a, b] = [light(channels(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x)
  const contrast = (a + 0.05) / (b + 0.05)
  if (contrast < 4.5) faint.add(`${contrast.toFixed(2)} ${node.localName}.${node.className}`)
}
return [...faint]
"""


class DocsTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not PAGES:
            raise AssertionError("the documentation is not there; make docs")
        cls.relay = Served()
        cls.addClassCleanup(cls.relay.stop)
        cls.driver = start_browser()
        cls.addClassCleanup(cls.driver.quit)

    def show(self, page, size=DESKTOP, scheme="light"):
        """Opens a page afresh, and fails when the console has anything to say of it."""
        width, height = size
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        self.driver.get(f"{self.relay.url}/docs/{page}.html")
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])

    def picture(self, name):
        if folder := os.environ.get("STILLWIRE_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"docs-{name}.png"))

    def script(self, source):
        return self.driver.execute_script(source)

    def test_the_folder_leads_to_its_first_page(self):
        self.driver.get(f"{self.relay.url}/docs")
        self.assertEqual(self.driver.current_url, f"{self.relay.url}/docs/")
        self.assertEqual(self.script("return document.querySelector('h1').textContent"), "Quick start")

    def test_pages_have_no_faults(self):
        for page in PAGES:
            with self.subTest(page=page):
                self.show(page)
                self.assertEqual(self.script(FAULTS), [])

    def test_nothing_is_wider_than_the_screen(self):
        for page in PAGES:
            for width in (320, PHONE[0], 768, 1024, DESKTOP[0]):
                with self.subTest(page=page, width=width):
                    self.show(page, (width, PHONE[1]))
                    root = "document.documentElement"
                    self.assertLessEqual(
                        self.script(f"return {root}.scrollWidth"), self.script(f"return {root}.clientWidth")
                    )

    def test_texts_stand_out_in_light_and_dark(self):
        for page in PAGES:
            papers = set()
            for scheme in ("light", "dark"):
                for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
                    with self.subTest(page=page, scheme=scheme, screen=name):
                        self.show(page, size, scheme)
                        self.assertEqual(self.script(FAINT), [])
                        self.picture(f"{page}-{name}-{scheme}")
                papers.add(self.script("return getComputedStyle(document.body).backgroundColor"))
            self.assertEqual(len(papers), 2)

    def test_every_link_leads_somewhere(self):
        anchors, links = {}, {}
        for page in PAGES:
            self.show(page)
            url = f"{self.relay.url}/docs/{page}.html"
            anchors[url] = set(self.script("return [...document.querySelectorAll('[id]')].map((node) => node.id)"))
            links[page] = self.script("return [...document.querySelectorAll('a, link')].map((node) => node.href)")
        anchors[f"{self.relay.url}/docs/"] = anchors[f"{self.relay.url}/docs/index.html"]
        found = set()
        for page, addresses in links.items():
            for address in addresses:
                file, _, anchor = address.partition("#")
                if not file.startswith(self.relay.url):
                    self.assertTrue(file.startswith("https://"), f"{page}: {address}")
                elif file in anchors:
                    self.assertTrue(not anchor or anchor in anchors[file], f"{page}: {address}")
                    found.add(file)
                elif file not in found:
                    self.assertEqual(self.status(file), 200, f"{page}: {address}")
                    found.add(file)
        # Nor is there a page that nothing leads to.
        self.assertLessEqual({f"{self.relay.url}/docs/{page}.html" for page in PAGES if page != "index"}, found)

    def status(self, url):
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_a_keyboard_reaches_the_text_first(self):
        self.show("protocol")
        first = self.script("return document.querySelector('a, button, [tabindex]').getAttribute('href')")
        self.assertEqual(first, "#text")
        self.script("document.querySelector('.skip').focus()")
        box = self.script("return document.querySelector('.skip').getBoundingClientRect().toJSON()")
        self.assertTrue(box["x"] >= 0 and box["y"] >= 0 and box["width"] > 0)
        self.assertEqual(self.script("return getComputedStyle(document.querySelector('.skip')).clipPath"), "none")

    def test_a_phone_opens_and_closes_the_list_of_pages(self):
        self.show("protocol", PHONE)
        shown = "return document.querySelector('.pages').checkVisibility()"
        self.assertFalse(self.script(shown))
        self.driver.find_element("css selector", ".menu").click()
        self.assertTrue(self.script(shown))
        self.picture("pages-phone")
        self.driver.find_element("css selector", ".pages .close").click()
        self.assertFalse(self.script(shown))
        self.driver.find_element("css selector", ".menu").click()
        self.driver.find_element("link text", "Payloads").click()
        self.assertEqual(self.script("return document.querySelector('h1').textContent"), "Payloads")
        self.assertFalse(self.script(shown))

    def test_a_link_to_a_heading_shows_it_below_the_bar(self):
        for size in (PHONE, DESKTOP):
            self.show("protocol", size)
            self.driver.get(f"{self.relay.url}/docs/protocol.html#events")
            top = self.script("return document.getElementById('events').getBoundingClientRect().top")
            bar = self.script("return document.querySelector('.masthead').getBoundingClientRect().bottom")
            self.assertGreaterEqual(top, bar)
            self.assertLess(top, bar + 80)


if __name__ == "__main__":
    unittest.main()
