// SPDX-License-Identifier: Apache-2.0

extension AppleSimulator {
  /// The headers of a request.
  struct Head: Equatable, Sendable {
    var method = ""
    var path = ""
    var authorization: String?
    var id: String?
    var topic: String?
    var pushType: String?
    var priority: String?
    var expiration: String?
    var collapseID: String?
    /// True if one of these headers occurs more than once.
    var isRepeated = false

    init() {}

    init(_ fields: some Sequence<(name: String, value: String)>) {
      for (name, value) in fields { note(name, value) }
    }

    mutating func note(_ name: String, _ value: String) {
      switch name {
      case ":method": method = value
      case ":path": path = value
      case "authorization": set(\.authorization, value)
      case "apns-id": set(\.id, value)
      case "apns-topic": set(\.topic, value)
      case "apns-push-type": set(\.pushType, value)
      case "apns-priority": set(\.priority, value)
      case "apns-expiration": set(\.expiration, value)
      case "apns-collapse-id": set(\.collapseID, value)
      default: break
      }
    }

    private mutating func set(_ field: WritableKeyPath<Head, String?>, _ value: String) {
      if self[keyPath: field] != nil { isRepeated = true }
      self[keyPath: field] = value
    }

    /// The device token in the path. Is empty when the path has no token, and `nil` for another path.
    var token: Substring? {
      let prefix = "/3/device"
      guard path.hasPrefix(prefix) else { return nil }
      let rest = path.utf8.dropFirst(prefix.utf8.count)
      guard let slash = rest.first else { return "" }
      guard slash == UInt8(ascii: "/"), !rest.dropFirst().contains(UInt8(ascii: "/")) else { return nil }
      return Substring(rest.dropFirst())
    }
  }
}
