// SPDX-License-Identifier: Apache-2.0
// Stores the devices and the report keys of the phone's accounts in the Keychain.
#if canImport(Security)
  import Foundation
  import Security
  public import StillwireExtension

  /// The Keychain items of the accounts, which the app and its extensions share.
  ///
  /// The items are readable after the first unlock of the phone, also while the phone is locked. They stay on this device:
  /// a backup does not give them to another phone.
  public struct AccountKeychain: AccountSecrets {
    /// The system refused the request. Before the first unlock it refuses all requests.
    public struct Failure: Error, Equatable, Sendable {
      /// The `OSStatus`.
      public var status: Int32

      public init(status: Int32) { self.status = status }
    }

    /// The access group, which the app and its extensions share. An App Group is one too.
    public let group: String

    /// - Parameter group: A Keychain access group or an App Group of the app and its extensions.
    public init(group: String) { self.group = group }

    /// Returns a value, or `nil` if there is none. Throws ``Failure``.
    public func value(of secret: AccountSecret) throws -> String? {
      var query = item(of: secret)
      query[kSecReturnData as String] = true
      query[kSecMatchLimit as String] = kSecMatchLimitOne
      var found: CFTypeRef?
      let status = SecItemCopyMatching(query as CFDictionary, &found)
      guard status != errSecItemNotFound else { return nil }
      guard status == errSecSuccess else { throw Failure(status: status) }
      return (found as? Data).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Stores a value in place of the earlier one. Throws ``Failure``.
    public func set(_ value: String, of secret: AccountSecret) throws {
      let values =
        [
          kSecValueData as String: Data(value.utf8),
          kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ] as [String: Any]
      let item = item(of: secret)
      var status = SecItemUpdate(item as CFDictionary, values as CFDictionary)
      if status == errSecItemNotFound {
        status = SecItemAdd(item.merging(values) { _, new in new } as CFDictionary, nil)
      }
      guard status == errSecSuccess else { throw Failure(status: status) }
    }

    /// Removes a value. Throws ``Failure``. A missing value is not an error.
    public func remove(_ secret: AccountSecret) throws {
      let status = SecItemDelete(item(of: secret) as CFDictionary)
      guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure(status: status) }
    }

    private func item(of secret: AccountSecret) -> [String: Any] {
      let (service, account) =
        switch secret {
        case .device(let user): ("stillwire.device", user.rawValue)
        case .reportKey(let device): ("stillwire.reportKey", device.rawValue)
        }
      return [
        kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
        kSecAttrAccount as String: account, kSecAttrAccessGroup as String: group,
        // The Keychain of iOS, also on macOS: only it has access groups.
        kSecUseDataProtectionKeychain as String: true,
      ]
    }
  }
#endif
