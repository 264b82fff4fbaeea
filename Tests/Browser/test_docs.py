# SPDX-License-Identifier: Apache-2.0
"""The documentation at /docs in a browser: its links, its search, and its layout on each screen."""

import os
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from page import eventually, start_browser
from served import WEB, Served

DOCS = WEB / "site"
#: The paths of all pages below `/docs`, as links name them.
PAGES = sorted(str(file.parent.relative_to(DOCS)).replace(".", "") for file in DOCS.rglob("index.html"))
TRY = "reference/try.html"
PHONE = (390, 844)
DESKTOP = (1280, 1000)
LAYOUTS = [("desktop", DESKTOP, "light"), ("phone", PHONE, "dark"), ("narrow", (320, 844), "light")]

#: The faults of a page for readers and their tools.
FAULTS = """
const faults = []
const text = (node) => node.textContent.trim()
const one = (selector) => {
  const found = document.querySelectorAll(selector)
  if (found.length !== 1) faults.push(`${found.length} times ${selector}`)
}
for (const selector of ['h1', 'main', 'header', 'footer']) one(selector)
const root = document.documentElement
if (root.scrollWidth > root.clientWidth) faults.push(`${root.scrollWidth - root.clientWidth} px wider than the screen`)
if (!root.lang) faults.push('no lang')
if (!document.title.endsWith('Stillwire')) faults.push(`title ${document.title}`)
let last = 1
for (const heading of document.querySelectorAll('article :is(h1, h2, h3, h4, h5, h6)')) {
  const level = Number(heading.localName[1])
  if (level > last + 1) faults.push(`a heading ${level} follows a heading ${last}: ${text(heading)}`)
  if (!heading.id) faults.push(`no id for the heading ${text(heading)}`)
  last = level
}
const ids = [...document.querySelectorAll('[id]')].map((node) => node.id)
for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) faults.push(`twice the id ${id}`)
for (const image of document.querySelectorAll('img')) {
  if (!image.alt) faults.push(`no alternative text for ${image.src}`)
  if (!image.naturalWidth) faults.push(`${image.src} does not show`)
}
for (const link of document.querySelectorAll('article a[href]')) {
  if (!text(link) && !link.getAttribute('aria-label') && !link.title) faults.push(`a link without a name to ${link.href}`)
}
for (const table of document.querySelectorAll('article table')) {
  if (!table.querySelector('th')) faults.push(`a table without headers: ${text(table).slice(0, 60)}`)
  for (const header of table.querySelectorAll('th')) if (!text(header)) faults.push('an empty header')
}
for (const node of document.querySelectorAll('script:not([src]):not([type="application/json"]), link[href^=http], [src^=http]')) {
  faults.push(`the relay does not serve it: ${node.outerHTML.slice(0, 100)}`)
}
// A proxy may serve the relay below any path.
for (const node of document.querySelectorAll('[href^="/"], [src^="/"]')) faults.push(`from the root: ${node.outerHTML}`)
for (const block of document.querySelectorAll('article .highlight pre')) {
  if (block.scrollWidth > block.clientWidth) faults.push(`code wider than its block: ${text(block).slice(0, 60)}`)
  if (!block.parentElement.querySelector('.md-code__button, .md-clipboard')) faults.push(`no button to copy: ${text(block).slice(0, 60)}`)
}
return faults
"""

#: The texts whose contrast is below 4.5 to 1, as WCAG 2.2 computes it.
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
  if (node.closest('.md-skip') || !walker.currentNode.data.trim() || !node.checkVisibility({ checkVisibilityCSS: true })) continue
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
            raise AssertionError("the documentation is not built; run make docs")
        cls.relay = Served()
        cls.addClassCleanup(cls.relay.stop)
        cls.driver = start_browser()
        cls.addClassCleanup(cls.driver.quit)

    def show(self, page, size=DESKTOP, scheme="light"):
        """Opens a page, and fails if the console has a message, such as a violation of the page's policy."""
        width, height = size
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        self.driver.get(f"{self.relay.url}/docs/{page}{'/' if page and '.' not in page else ''}")
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])

    def picture(self, name):
        if folder := os.environ.get("STILLWIRE_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"docs-{name.replace('/', '-')}.png"))

    def script(self, source):
        return self.driver.execute_script(source)

    def test_the_folder_redirects_to_its_first_page(self):
        self.driver.get(f"{self.relay.url}/docs")
        self.assertEqual(self.driver.current_url, f"{self.relay.url}/docs/")
        self.assertTrue(self.script("return document.querySelector('h1').textContent").startswith("Stillwire"))

    def test_pages_have_no_faults(self):
        for page in PAGES:
            for name, size, scheme in LAYOUTS:
                with self.subTest(page=page, layout=name):
                    self.show(page, size, scheme)
                    self.assertEqual(self.script(FAULTS), [])
                    self.assertEqual(self.script(FAINT), [])
                    self.picture(f"{page or 'index'}-{name}")

    def test_the_colors_follow_the_system(self):
        papers = set()
        for scheme in ("light", "dark"):
            self.show("", scheme=scheme)
            papers.add(self.script("return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(papers), 2)

    def test_every_link_has_a_target(self):
        anchors, links = {}, {}
        for page in PAGES:
            self.show(page)
            url = f"{self.relay.url}/docs/{page}{'/' if page else ''}"
            anchors[url] = set(self.script("return [...document.querySelectorAll('[id]')].map((node) => node.id)"))
            links[page] = self.script("return [...document.querySelectorAll('a, link')].map((node) => node.href)")
        found = set()
        for page, addresses in links.items():
            for address in filter(None, addresses):
                file, _, anchor = address.partition("#")
                if not file.startswith(self.relay.url):
                    self.assertTrue(file.startswith("https://"), f"{page}: {address}")
                elif file in anchors:
                    self.assertTrue(not anchor or anchor in anchors[file], f"{page}: {address}")
                    found.add(file)
                elif file not in found:
                    self.assertEqual(self.status(file), 200, f"{page}: {address}")
                    found.add(file)
        # Each page is the target of a link.
        self.assertLessEqual(set(anchors), found)

    def status(self, url):
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_a_keyboard_reaches_the_text_first(self):
        self.show("reference/protocol")
        first = self.script("return document.querySelector('a, button, input:not([type=checkbox]), [tabindex]').className")
        self.assertEqual(first, "md-skip")

    def test_a_link_to_a_heading_shows_it_below_the_bar(self):
        for size in (PHONE, DESKTOP):
            self.show("reference/protocol", size)
            self.driver.get(f"{self.relay.url}/docs/reference/protocol/#events")
            bar = self.script("return document.querySelector('.md-header').getBoundingClientRect().bottom")
            top = "document.getElementById('events').getBoundingClientRect().top"
            eventually(self.driver, "the heading is below the bar", lambda: bar <= self.script(f"return {top}") < bar + 90)

    def test_a_search_finds_pages(self):
        self.show("")
        for query in ("delete message", "unread", "TLS"):
            with self.subTest(query=query):
                field = self.driver.find_element("css selector", ".md-search__input")
                self.script("document.querySelector('[data-md-toggle=search]').click()")
                eventually(self.driver, "the search field is visible", lambda: field.is_displayed())
                field.send_keys(query)
                found = "return [...document.querySelectorAll('.md-search-result__link')].map((link) => link.textContent)"
                eventually(self.driver, f"the search finds {query}", lambda: self.script(found))
                words = query.lower().split()
                self.assertTrue(all(word in " ".join(self.script(found)).lower() for word in words), query)
                self.show("")

    def test_the_api_can_be_tried(self):
        self.show(TRY)
        summaries = "return [...document.querySelectorAll('.opblock-summary-description')].map((node) => node.textContent)"
        eventually(self.driver, "the operations are listed", lambda: "Send a message" in self.script(summaries))
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])


if __name__ == "__main__":
    unittest.main()
