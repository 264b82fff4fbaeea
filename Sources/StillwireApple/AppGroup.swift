// SPDX-License-Identifier: Apache-2.0
// The objects that an app shares with its extensions, in one value.
#if canImport(Security) && canImport(UserNotifications) && !os(tvOS)
  public import Foundation
  import Security
  public import StillwireExtension
  import UserNotifications
  import os

  /// An App Group: the accounts, the files and the reporters that an app shares with its extensions.
  ///
  /// Make one with the same values in the app and in each extension, in a file that is a member of all these targets. Its
  /// members may be used from any thread.
  public struct AppGroup: Sendable {
    /// The identifier of the App Group, which is also the access group of the Keychain items.
    public let identifier: String
    /// The bundle id of the app.
    public let app: String
    /// The URLs of the relay, or of all nodes of a cluster.
    public let relay: [RelayAddress]

    /// - Parameters:
    ///   - identifier: The identifier of the App Group.
    ///   - app: The bundle id of the app, not that of an extension.
    ///   - relay: At least one address.
    public init(_ identifier: String, app: String, relay: [RelayAddress]) {
      precondition(!relay.isEmpty, "an app needs the address of a relay")
      self.identifier = identifier
      self.app = app
      self.relay = relay
      if container == nil {
        Logger(subsystem: app, category: "stillwire").fault(
          "the target has no App Group \(identifier, privacy: .public): the app and its extensions share nothing")
      }
    }

    /// The users who are signed in on this phone, each with a device and a report key, and the sign-outs that the relay has
    /// not confirmed.
    public var accounts: AccountStore {
      AccountStore(
        file: folder.appendingPathComponent("stillwire-accounts"), secrets: AccountKeychain(group: identifier),
        relay: relay)
    }

    /// The stable name of a user's device, for ``StillwireClient/Stillwire/Configuration``. Is `nil` before the first
    /// unlock of the phone, because the Keychain has it.
    public func device(of user: UserID) -> DeviceID? { try? accounts.device(of: user) }

    /// The folder of the App Group. Is the folder for temporary files if the target has no such App Group, which is a
    /// fault in the log.
    public var folder: URL { container ?? FileManager.default.temporaryDirectory }

    private var container: URL? {
      FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)
    }

    /// The cache of the pictures.
    public var pictures: AvatarCache { AvatarCache(folder: folder.appendingPathComponent("stillwire-pictures")) }

    /// The reporter of the Focus, with the report key of the user who registered last
    /// (``StillwireExtension/PhoneAccounts/latest``). The Focus belongs to the phone, so that the report counts for all
    /// accounts.
    public var focusReporter: FocusReporter {
      let account = accounts.account()
      return FocusReporter(relay, device: account?.device ?? .default, numberFile: numberFile) { [accounts] in
        try accounts.identity(of: account?.user)
      }
    }

    /// The reporter of the Focus filter, in the same way.
    public var filterReporter: FilterReporter {
      let account = accounts.account()
      return FilterReporter(relay, device: account?.device ?? .default, numberFile: numberFile) { [accounts] in
        try accounts.identity(of: account?.user)
      }
    }

    /// Registers the device of a user for pushes if the registration is due, and saves the report key. Call it for each
    /// user who is signed in, with each token that iOS gives to the app delegate. Repeats open sign-outs first. Calls at the
    /// same time register one after the other.
    ///
    /// Logs the relay's warnings with the subsystem of the app and the category `stillwire`, for example that the relay
    /// ignores the token for calls.
    ///
    /// Throws ``StillwireExtension/StillwireError``, ``AccountKeychain/Failure``, or the error of the file of the accounts.
    /// - Parameters:
    ///   - user: The user who is signed in, at most ``StillwireExtension/PhoneAccounts/maxAccounts`` users.
    ///   - token: The token of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    ///   - voipToken: The token of `PKPushCredentials`, for calls.
    ///   - criteria: The label of the account, which Focus filters match.
    ///   - identity: Returns the user's token.
    /// - Returns: False if the relay already has this registration.
    @discardableResult
    public func register(
      _ user: UserID, token: Data, voipToken: Data? = nil, criteria: String? = nil,
      as identity: @escaping @Sendable () async throws -> Identity
    ) async throws -> Bool {
      let registered = try await accounts.register(user, as: identity) { device in
        let permissions = NotificationPermissions(await UNUserNotificationCenter.current().notificationSettings())
        return PushRegistration(
          user: user, device: device, app: app, token: token, voipToken: voipToken, criteria: criteria,
          permissions: permissions)
      }
      for warning in registered?.warnings ?? [] {
        Logger(subsystem: app, category: "stillwire").warning("\(warning.description, privacy: .public)")
      }
      return registered != nil
    }

    var numberFile: URL { folder.appendingPathComponent("stillwire-reports") }
  }
#endif
