// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import RelayHub
package import RelayIdentity
import RelayRequests

/// The files of the page and of the documentation. They are read and compressed once at the start, so that the hub's
/// thread never waits for a disk. `make docs` writes the documentation to the folder `site`, and the relay serves it at
/// `/docs/`.
package struct Site: Sendable {
  private struct File {
    let type: String
    let plain: Form
    /// The compressed bytes. Is `nil` if they are not smaller.
    let gzip: Form?
  }

  private struct Form {
    let bytes: [UInt8]
    let tag: String

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      tag = entityTag(of: bytes)
    }
  }

  private var files: [String: File] = [:]

  /// A site without files.
  package init() {}

  /// Reads all files below `folder` that have a known type. Throws ``StartupError`` if `index.html` is missing, a file
  /// cannot be read, or the files have more than ``maxBytes`` together.
  package init(folder: String) throws(StartupError) {
    let root = URL(fileURLWithPath: folder, isDirectory: true).standardizedFileURL
    guard FileManager.default.fileExists(atPath: root.appendingPathComponent("index.html").path) else {
      throw StartupError("the web folder \(folder) has no index.html")
    }
    let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    var total = 0
    for name in names {
      guard let path = Self.path(of: name), let type = Self.types[(name as NSString).pathExtension] else { continue }
      let data = try OpenedFile(root.appendingPathComponent(name).path, as: "the file of the web folder").data
      total += data.count
      guard total <= Self.maxBytes else { throw StartupError("the web folder \(folder) is over 16 MiB") }
      let bytes = [UInt8](data)
      let file = File(type: type, plain: Form(bytes), gzip: ContentCoding.gzip(bytes).map(Form.init))
      files[path] = file
      if path.hasSuffix("/index.html") { files[String(path.dropLast("index.html".count))] = file }
    }
  }

  /// The path at which the relay serves a file of the folder. Is `nil` for the sources of the documentation.
  private static func path(of name: String) -> String? {
    if name.hasPrefix("docs/") { return nil }
    return name.hasPrefix("site/") ? "/docs/" + name.dropFirst("site/".count) : "/" + name
  }

  /// The maximum size of all files together, in bytes.
  package static let maxBytes = 16 << 20

  private static let types = [
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png", "json": "application/json", "txt": "text/plain; charset=utf-8",
    "ico": "image/x-icon", "woff2": "font/woff2", "webmanifest": "application/manifest+json",
  ]

  /// The content security policy: the page loads scripts, styles and images only from the relay.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  /// Returns the file of a request, or a redirection to its folder. Returns `nil` if no file has this path.
  package func response(to request: HTTPRequest) -> HTTPResponse? {
    guard let path = request.path.removingPercentEncoding else { return nil }
    guard let file = files[path] else { return redirection(from: path) ?? missingDocumentation(at: path) }
    let gzip = ContentCoding.takesGzip(request.fields[.acceptEncoding]) ? file.gzip : nil
    let form = gzip ?? file.plain
    var headers: HTTPFields = [
      .contentType: file.type, .eTag: form.tag, .cacheControl: "no-cache", .vary: "Accept-Encoding",
      .contentSecurityPolicy: Self.policy, .xContentTypeOptions: "nosniff", .referrerPolicy: "no-referrer",
    ]
    if request.knows(form.tag) { return HTTPResponse(status: 304, headers: headers) }
    if gzip != nil { headers[.contentEncoding] = "gzip" }
    return HTTPResponse(status: 200, headers: headers, body: form.bytes)
  }

  /// Answers a request for the documentation with instructions to build it, if the folder has a page but no
  /// documentation.
  private func missingDocumentation(at path: String) -> HTTPResponse? {
    guard !files.isEmpty, files["/docs/"] == nil, path == "/docs" || path.hasPrefix("/docs/") else { return nil }
    let text = """
      The documentation is not built. Run `make docs` in the checkout, which writes it to `web/site`,
      and start the relay again. The sources are in `web/docs`.

      """
    let headers: HTTPFields = [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-cache"]
    return HTTPResponse(status: 404, headers: headers, body: [UInt8](text.utf8))
  }

  /// Redirects from a folder's name without a slash to the name with one, so that relative links of its page work. The
  /// location is relative, because a proxy may serve the relay below another path.
  private func redirection(from path: String) -> HTTPResponse? {
    guard files[path + "/"] != nil, let name = path.split(separator: "/").last else { return nil }
    let folder = name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? String(name)
    return HTTPResponse(
      status: 308, headers: [.location: "./\(folder)/", .cacheControl: "no-cache"])
  }
}
