// SPDX-License-Identifier: Apache-2.0
import RelayIdentity

/// Checks the values of the setting `origins`. The hub compares a value as a whole with the header `Origin`, in any case.
enum Origins {
  /// Throws an error for a value that no browser sends in `Origin` (RFC 6454, section 6.2). The error has the right
  /// form, if there is one.
  @Sendable static func check(_ origins: [String], _ key: String) throws(StartupError) {
    for origin in origins where origin != "null" {
      guard !origin.contains("*") else {
        throw StartupError(
          "\(key): \(origin) has a wildcard, which never matches: list each origin, such as https://app.example.org")
      }
      guard let right = normalized(origin) else {
        throw StartupError("\(key): \(origin) is not an origin, such as https://app.example.org")
      }
      guard right == origin.lowercased() else {
        throw StartupError("\(key): \(origin) is not an origin as browsers send it: write \(right)")
      }
    }
  }

  /// The schemes of pages, with their default ports.
  private static let ports = ["http": 80, "https": 443]
  /// The origin of all pages from files, such as those of Electron and Cordova.
  private static let files = "file://"

  /// Returns the origin of a URL, or of a host without a scheme. Is `nil` if the text is neither.
  private static func normalized(_ text: String) -> String? {
    if text.lowercased().hasPrefix("file:") { return files }
    let separator = text.firstRange(of: "://")
    let rest = text[(separator?.upperBound ?? text.startIndex)...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    guard let (host, port) = parsed(host) else { return nil }
    var scheme = host == "localhost" ? "http" : "https"
    if let separator { scheme = text[..<separator.lowerBound].lowercased() }
    // The schemes of sockets are not those of their pages.
    scheme = ["ws": "http", "wss": "https"][scheme] ?? scheme
    guard scheme.first?.isLetter == true, scheme.utf8.allSatisfy({ $0.isInHostName || $0 == UInt8(ascii: "+") }) else {
      return nil
    }
    let suffix = port == nil || port == ports[scheme] ? "" : ":\(port ?? 0)"
    return "\(scheme)://\(host)\(suffix)"
  }

  /// Parses a host with an optional port. The host is in lower case.
  private static func parsed(_ authority: Substring) -> (host: String, port: Int?)? {
    var host = authority
    var port: Int?
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      host = authority[..<colon]
      let digits = authority[authority.index(after: colon)...]
      guard digits.isEmpty || (digits.utf8.allSatisfy(\.isDigit) && (1...65_535).contains(Int(digits) ?? 0)) else {
        return nil
      }
      port = Int(digits)
    }
    let isAddress = host.hasPrefix("[") && host.hasSuffix("]") && host.contains(":")
    let name = isAddress ? host.dropFirst().dropLast() : host
    guard !name.isEmpty, name.utf8.allSatisfy({ $0.isInHostName || (isAddress && $0 == UInt8(ascii: ":")) }) else {
      return nil
    }
    return (host.lowercased(), port)
  }
}

extension UInt8 {
  /// True for the bytes of a host name.
  var isInHostName: Bool {
    isDigit || (65...90).contains(self) || (97...122).contains(self) || "-_.".utf8.contains(self)
  }

  fileprivate var isDigit: Bool { (48...57).contains(self) }
}
