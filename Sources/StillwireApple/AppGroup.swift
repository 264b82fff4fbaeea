// SPDX-License-Identifier: Apache-2.0
// The objects that an app shares with its extensions, in one value.
#if canImport(Security) && canImport(UserNotifications) && !os(tvOS)
  public import Foundation
  import Security
  public import StillwireExtension
  import UserNotifications
  import os

  /// An App Group: the device, the files, the report key and the reporters that an app shares with its extensions.
  ///
  /// Make one with the same values in the app and in each extension, in a file that is a member of all these targets. Its
  /// members may be used from any thread.
  public struct AppGroup: Sendable {
    /// The identifier of the App Group, which is also the access group of the Keychain item.
    public let identifier: String
    /// The bundle id of the app.
    public let app: String
    /// The URLs of the relay, or of all nodes of a cluster.
    public let relay: [RelayAddress]
    /// The Keychain item of the report key.
    public let keychain: ReportKeychain

    /// - Parameters:
    ///   - identifier: The identifier of the App Group.
    ///   - app: The bundle id of the app, not that of an extension.
    ///   - relay: At least one address.
    public init(_ identifier: String, app: String, relay: [RelayAddress]) {
      precondition(!relay.isEmpty, "an app needs the address of a relay")
      self.identifier = identifier
      self.app = app
      self.relay = relay
      keychain = ReportKeychain(group: identifier)
      if container == nil {
        Logger(subsystem: app, category: "stillwire").fault(
          "the target has no App Group \(identifier, privacy: .public): the app and its extensions share nothing")
      }
    }

    /// The stable name of this installation. The first call makes it, and stores it in the settings of the App Group.
    /// Call it in the app before an extension runs: registering the device does so.
    public var device: DeviceID {
      if let device = settings?.string(forKey: "stillwire.device").flatMap(DeviceID.init(rawValue:)) { return device }
      let device = UUID().uuidString.lowercased()
      settings?.set(device, forKey: "stillwire.device")
      return DeviceID(rawValue: device) ?? .default
    }

    /// The folder of the App Group. Is the folder for temporary files if the target has no such App Group, which is a
    /// fault in the log.
    public var folder: URL { container ?? FileManager.default.temporaryDirectory }

    private var container: URL? {
      FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)
    }

    /// The cache of the pictures.
    public var pictures: AvatarCache { AvatarCache(folder: folder.appendingPathComponent("stillwire-pictures")) }

    /// The reporter of the Focus, with the report key.
    public var focusReporter: FocusReporter {
      FocusReporter(relay, device: device, numberFile: numberFile) { [keychain] in try keychain.identity() }
    }

    /// The reporter of the Focus filter, with the report key.
    public var filterReporter: FilterReporter {
      FilterReporter(relay, device: device, numberFile: numberFile) { [keychain] in try keychain.identity() }
    }

    /// Single requests with the report key, such as the response to a notification.
    public var api: RelayAPI { RelayAPI(relay) { [keychain] in try keychain.identity() } }

    /// Registers the device for pushes if the registration is due, and saves the report key. Call it with each token
    /// that iOS gives to the app delegate. Calls at the same time register one after the other.
    ///
    /// Logs the relay's warnings with the subsystem of the app and the category `stillwire`, for example that the relay
    /// ignores the token for calls.
    ///
    /// Throws ``StillwireExtension/StillwireError`` or ``ReportKeychain/Failure``.
    /// - Parameters:
    ///   - token: The token of `application(_:didRegisterForRemoteNotificationsWithDeviceToken:)`.
    ///   - voipToken: The token of `PKPushCredentials`, for calls.
    ///   - criteria: The label of the account, which Focus filters match.
    ///   - identity: Returns the user's token.
    /// - Returns: False if the relay already has this registration.
    @discardableResult
    public func register(
      _ token: Data, voipToken: Data? = nil, criteria: String? = nil,
      as identity: @escaping @Sendable () async throws -> Identity
    ) async throws -> Bool {
      try await Self.registrations.perform {
        let permissions = NotificationPermissions(await UNUserNotificationCenter.current().notificationSettings())
        let registration = PushRegistration(
          device: device, app: app, token: token, voipToken: voipToken, criteria: criteria, permissions: permissions)
        let last = settings?.data(forKey: Self.record)
          .flatMap { try? JSONDecoder().decode(PushRegistration.Record.self, from: $0) }
        guard registration.isDue(after: last, hasReportKey: (try? keychain.load()) != nil, now: Date()) else {
          return false
        }
        let registered = try await RelayAPI(relay, as: identity).register(registration)
        for warning in registered.warnings {
          Logger(subsystem: app, category: "stillwire").warning("\(warning.description, privacy: .public)")
        }
        try keychain.save(registered.reportKey)
        settings?.set(try JSONEncoder().encode(registration.record(at: Date())), forKey: Self.record)
        return true
      }
    }

    /// Signs the user out on this device: the relay forgets the device and its report keys. Then removes the report key
    /// and all delivered notifications. The registration of the next user is due.
    ///
    /// Throws ``StillwireExtension/StillwireError`` or ``ReportKeychain/Failure``. After an error of the relay nothing
    /// has changed, and the device still receives the user's pushes: repeat it.
    /// - Parameter identity: Returns the token of the user who signs out.
    public func signOut(as identity: @escaping @Sendable () async throws -> Identity) async throws {
      try await Self.registrations.perform {
        try await RelayAPI(relay, as: identity).forget(device)
        settings?.removeObject(forKey: Self.record)
        try keychain.remove()
        UNUserNotificationCenter.current().removeAllDeliveredNotifications()
      }
    }

    private static let registrations = SerialTasks()
    private static let record = "stillwire.registration"

    var numberFile: URL { folder.appendingPathComponent("stillwire-reports") }
    private var settings: UserDefaults? { UserDefaults(suiteName: identifier) }
  }
#endif
