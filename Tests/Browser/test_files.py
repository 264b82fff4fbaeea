# SPDX-License-Identifier: Apache-2.0
"""The relay serves every file of the page with its type and a strict content security policy."""

import gzip
import unittest
import urllib.request

from served import WEB, Served

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
}


class FileTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.relay = Served()
        cls.addClassCleanup(cls.relay.stop)

    def fetch(self, path):
        with urllib.request.urlopen(f"{self.relay.url}/{path}", timeout=10) as response:
            return response.headers, response.read()

    def test_every_file_is_served_with_its_type(self):
        # The types and the README belong to the npm package. No browser requests them.
        own = (
            file
            for file in WEB.rglob("*.*")
            if file.relative_to(WEB).parts[0] not in ("docs", "site") and file.suffix not in (".ts", ".md")
        )
        for name in sorted(str(file.relative_to(WEB)) for file in own):
            with self.subTest(file=name):
                file = WEB / name
                headers, content = self.fetch(name)
                self.assertEqual(headers.get_content_type(), TYPES[file.suffix])
                self.assertEqual(content, file.read_bytes())

    def test_the_page_has_a_strict_policy(self):
        headers, content = self.fetch("")
        self.assertEqual(content, (WEB / "index.html").read_bytes())
        rules = {rule.strip() for rule in headers["Content-Security-Policy"].split(";") if rule.strip()}
        self.assertEqual(rules, POLICY)

    def test_a_client_that_accepts_gzip_gets_the_file_compressed(self):
        request = urllib.request.Request(f"{self.relay.url}/page/app.js", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=10) as response:
            packed = response.read()
            self.assertEqual(response.headers["Content-Encoding"], "gzip")
        content = (WEB / "page" / "app.js").read_bytes()
        self.assertEqual(gzip.decompress(packed), content)
        self.assertLess(len(packed), len(content))


if __name__ == "__main__":
    unittest.main()
