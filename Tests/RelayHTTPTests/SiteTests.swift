import Foundation
import RelayIdentity
import RelayProtocol
import Testing

// SPDX-License-Identifier: Apache-2.0
import struct HTTPTypes.HTTPField

@testable import RelayHTTP
@testable import RelayHub

/// `Site`: the files of the page and of the documentation, their paths and their compression.
@Suite struct SiteTests {
  @Test func `the error for a folder without a page contains its path`() throws {
    let folder = try WebFolder([:])
    let error = #expect(throws: StartupError.self) { try folder.site() }
    #expect(error?.description == "the web folder \(folder.path) has no index.html")
  }

  @Test func `nobody waits for a named pipe in the folder`() throws {
    let folder = try WebFolder(["index.html": "page"])
    let pipe = "\(folder.path)/pipe.js"
    try #require(mkfifo(pipe, 0o600) == 0)
    let error = #expect(throws: StartupError.self) { try folder.site() }
    #expect(
      error?.description
        == "the file of the web folder \(pipe) cannot be read: it is a named pipe, and not a regular file")
  }

  @Test(arguments: [
    ("/", "page"), ("/index.html", "page"), ("/docs/", "documentation"), ("/docs/index.html", "documentation"),
    ("/docs/a/b.html", "deep"),
  ])
  func `the path of a folder serves its index`(path: String, text: String) throws {
    let response = try #require(try site().response(to: request(path)))
    #expect(response.status == 200)
    #expect(String(decoding: response.body, as: UTF8.self) == text)
  }

  /// On a page at `/docs`, a link to `protocol.html` would lead to `/protocol.html`. The location is relative, because
  /// a proxy may serve the relay below another path.
  @Test func `the path of a folder without a slash is redirected to the path with a slash`() throws {
    let response = try #require(try site().response(to: request("/docs")))
    #expect(response.status == 308)
    #expect(response.headers[.location] == "./docs/")
    #expect(response.body.isEmpty)
  }

  @Test(arguments: ["/docs/a", "/docs/a/", "/docs//", "/docs/protocol", "/other", "/other/", ""])
  func `a folder without an index is not served`(path: String) throws {
    #expect(try site().response(to: request(path)) == nil)
  }

  @Test func `without documentation the relay explains how to build it`() throws {
    let site = try WebFolder(["index.html": "page", "docs/index.md": "source"]).site()
    for path in ["/docs", "/docs/", "/docs/reference/protocol/"] {
      let response = try #require(site.response(to: request(path)))
      #expect(response.status == 404)
      #expect(String(decoding: response.body, as: UTF8.self).contains("make docs"))
    }
    #expect(Site().response(to: request("/docs/")) == nil)
  }

  @Test func `the sources of the documentation are not served`() throws {
    let site = try WebFolder(["index.html": "page", "docs/a.png": "source", "site/index.html": "built"]).site()
    for path in ["/docs/a.png", "/site/", "/site/index.html"] { #expect(site.response(to: request(path)) == nil) }
  }

  private func site() throws -> Site {
    try WebFolder([
      "index.html": "page", "site/index.html": "documentation", "site/a/b.html": "deep", "other/c.txt": "",
    ]).site()
  }

  @Test func `a client that accepts gzip gets fewer bytes, with another tag`() throws {
    let text = String(repeating: "Stillwire knows when not to disturb. ", count: 100)
    let site = try WebFolder(["index.html": "page", "long.js": text]).site()
    func answer(_ coding: String?) throws -> HTTPResponse {
      try #require(site.response(to: request("/long.js", takes: coding)))
    }
    func value(_ name: String, _ response: HTTPResponse) -> String? {
      HTTPField.Name(name).flatMap { response.headers[$0] }
    }
    let plain = try answer(nil)
    let small = try answer("gzip, br")
    #expect(plain.body == [UInt8](text.utf8))
    #expect(value("Content-Encoding", plain) == nil)
    #expect(value("Content-Encoding", small) == "gzip")
    #expect(small.body.count < plain.body.count / 10)
    #expect(small.body.prefix(2) == [0x1f, 0x8b])
    #expect(value("ETag", plain) != value("ETag", small))
    for response in [plain, small] { #expect(value("Vary", response) == "Accept-Encoding") }
  }

  @Test func `a file that gzip does not make smaller is sent without it`() throws {
    let response = try #require(try site().response(to: request("/", takes: "gzip")))
    #expect(response.headers[.contentEncoding] == nil)
    #expect(String(decoding: response.body, as: UTF8.self) == "page")
  }

  @Test(arguments: [
    ("gzip", true), ("br, GZIP;q=0.5", true), ("*", true), ("deflate, * ; q=0.1", true), ("gzip;q=0", false),
    ("*;q=0", false), ("gzip;q=0, *", false), ("gzip;q=none", false), ("br", false), ("x-gzip", false), ("", false),
    (",;,", false),
  ])
  func `the relay uses gzip if Accept-Encoding accepts it`(field: String, isTaken: Bool) {
    #expect(ContentCoding.takesGzip(field) == isTaken)
  }

  private func request(_ path: String, takes coding: String? = nil) -> HTTPRequest {
    HTTPRequest(
      exchange: ExchangeHandle(rawValue: 1), path: path, fields: coding.map { [.acceptEncoding: $0] } ?? [:])
  }
}

/// A temporary folder with a few files. It is deleted with the value.
private final class WebFolder {
  let path = NSTemporaryDirectory() + "stillwire-\(UInt64.random(in: 0...UInt64.max))"

  init(_ files: [String: String]) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, text) in files {
      let file = URL(fileURLWithPath: path).appendingPathComponent(name)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
  }

  func site() throws -> Site { try Site(folder: path) }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
