// SPDX-License-Identifier: Apache-2.0

/// The changes that a token allows users to make to their own account: the claim `account` of tokens.
public struct AccountRights: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Register and forget devices.
  public static let devices = AccountRights(rawValue: 1)
  /// Change preferences, and block users.
  public static let preferences = AccountRights(rawValue: 2)

  public static let all: AccountRights = [.devices, .preferences]

  /// The rights and their names on the wire.
  public static let named: [(name: String, right: AccountRights)] = [
    ("devices", .devices), ("preferences", .preferences),
  ]

  /// Is `nil` when no right has this name.
  public init?(name: String) {
    guard let found = Self.named.first(where: { $0.name == name }) else { return nil }
    self = found.right
  }

  /// The names of the rights in the set.
  public var names: [String] { Self.named.filter { contains($0.right) }.map(\.name) }
}
