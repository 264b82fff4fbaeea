// SPDX-License-Identifier: Apache-2.0
// Stores the report key of a device in the Keychain.
#if canImport(Security)
  import Foundation
  import Security
  public import StillwireExtension

  /// The Keychain item with the report key, which the app and its extensions share.
  ///
  /// The item is readable after the first unlock of the phone, also while the phone is locked. It stays on this device.
  public struct ReportKeychain: Sendable {
    /// An error of the Keychain.
    public enum Failure: Error, Equatable, Sendable {
      /// There is no report key yet: the app has not registered the device.
      case missing
      /// The system refused the request with this `OSStatus`. Before the first unlock it refuses all requests.
      case refused(Int32)
    }

    /// The access group, which the app and its extensions share. An App Group is one too.
    public let group: String
    /// The name of the account, for an app with several.
    public let account: String

    /// - Parameters:
    ///   - group: A Keychain access group or an App Group of the app and its extensions.
    ///   - account: The name of the account, for an app with several.
    public init(group: String, account: String = "default") {
      self.group = group
      self.account = account
    }

    /// Stores a report key in place of the earlier one. Throws ``Failure``.
    public func save(_ key: String) throws {
      let values =
        [
          kSecValueData as String: Data(key.utf8),
          kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ] as [String: Any]
      var status = SecItemUpdate(item as CFDictionary, values as CFDictionary)
      if status == errSecItemNotFound {
        status = SecItemAdd(item.merging(values) { _, new in new } as CFDictionary, nil)
      }
      guard status == errSecSuccess else { throw Failure.refused(status) }
    }

    /// Returns the report key. Throws ``Failure``.
    public func load() throws -> String {
      var query = item
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      guard status != errSecItemNotFound else { throw Failure.missing }
      guard status == errSecSuccess else { throw Failure.refused(status) }
      guard let data = found as? Data else { throw Failure.missing }
      return String(decoding: data, as: UTF8.self)
    }

    /// Removes the report key, for a sign-out. Throws ``Failure``. A missing key is not an error.
    public func remove() throws {
      let status = SecItemDelete(item as CFDictionary)
      guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure.refused(status) }
    }

    /// Returns the identity for reports: `FocusReporter(…) { try keychain.identity() }`. Throws ``Failure``.
    public func identity() throws -> Identity { .reportKey(try load()) }

    private var item: [String: Any] {
      [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "stillwire.reportKey",
        kSecAttrAccount as String: account, kSecAttrAccessGroup as String: group,
        // The Keychain of iOS, also on macOS: only it has access groups.
        kSecUseDataProtectionKeychain as String: true,
      ]
    }
  }
#endif
