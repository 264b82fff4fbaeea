// SPDX-License-Identifier: Apache-2.0

/// The allow list of push services of browsers. It limits the hosts that a subscription may name, because a client
/// chooses the endpoint of a subscription.
public struct PushServices: Sendable, Equatable {
  private struct Service: Sendable, Equatable {
    let host: String
    let port: Int
  }

  private var list: [Service]

  /// Allows the services of Chrome, Safari, Edge and Firefox, with their subdomains.
  public init() {
    list = ["googleapis.com", "push.apple.com", "notify.windows.com", "push.services.mozilla.com"].map {
      Service(host: $0, port: 443)
    }
  }

  /// Allows one more service: `push.example.org` with its subdomains, or `push.example.org:8443`.
  /// - Returns: False if the text is not a host name with an optional port.
  public mutating func allow(_ text: String) -> Bool {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let port = parts.count == 1 ? 443 : UInt16(parts[1]).map(Int.init)
    guard let port, port > 0, Self.isName(parts[0].utf8) else { return false }
    list.append(Service(host: String(parts[0]), port: port))
    return true
  }

  func allows(_ host: String) -> Bool { list.contains { $0.host == host || host.hasSuffix("." + $0.host) } }

  func allows(_ host: String, port: Int) -> Bool {
    list.contains { $0.port == port && ($0.host == host || host.hasSuffix("." + $0.host)) }
  }

  /// True for a host name in lower case (RFC 1123) that cannot be an IP address.
  static func isName(_ text: some BidirectionalCollection<UInt8>) -> Bool {
    let labels = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.count <= 253, let last = labels.last, let first = last.first, !(48...57).contains(first) else {
      return false
    }
    return labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
        && label.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") }
    }
  }
}
