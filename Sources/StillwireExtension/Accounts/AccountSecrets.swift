// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// A value that stays on this phone and is never in a backup: an item of the Keychain.
public enum AccountSecret: Hashable, Sendable {
  /// The id of the device with which a user is signed in. With a backup two phones would have the same id.
  case device(of: UserID)
  /// The report key of a device.
  case reportKey(of: DeviceID)
}

/// The store of the secrets, which the app shares with its extensions. `AccountKeychain` of StillwireApple is one.
public protocol AccountSecrets: Sendable {
  /// Returns a value, or `nil` if there is none. Throws if the system refuses, for example before the first unlock.
  func value(of secret: AccountSecret) throws -> String?
  /// Stores a value in place of the earlier one.
  func set(_ value: String, of secret: AccountSecret) throws
  /// Removes a value. A missing value is not an error.
  func remove(_ secret: AccountSecret) throws
}
