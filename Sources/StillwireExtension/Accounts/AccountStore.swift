// SPDX-License-Identifier: Apache-2.0
// Performs the decisions of `PhoneAccounts` with a file, the Keychain and the relay. Has no dependency on Apple's
// frameworks.
public import Foundation
public import RelayProtocol

/// The accounts of a phone: the device, the report key and the registration of each user who is signed in, and the
/// sign-outs that the relay has not confirmed.
///
/// The app and its extensions share the file and the secrets. All methods may be called on any thread.
public struct AccountStore: Sendable {
  private let file: AccountFile
  private let secrets: any AccountSecrets
  private let relay: [RelayAddress]
  private let patience: Duration
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - file: A file in the folder of the App Group.
  ///   - secrets: The store of the devices and the report keys.
  ///   - relay: The URLs of the relay, or of all nodes of a cluster.
  ///   - patience: The timeout of a registration or a sign-out at the relay.
  public init(file: URL, secrets: any AccountSecrets, relay: [RelayAddress], patience: Duration = .seconds(5)) {
    self.init(file: file, secrets: secrets, relay: relay, patience: patience, now: { Date() })
  }

  init(
    file: URL, secrets: any AccountSecrets, relay: [RelayAddress], patience: Duration,
    now: @escaping @Sendable () -> Date
  ) {
    self.file = AccountFile(file: file)
    self.secrets = secrets
    self.relay = relay
    self.patience = patience
    self.now = now
  }

  // MARK: Accounts

  /// The accounts and the open sign-outs. Is `nil` if the app has never registered a user. Throws if the file cannot be
  /// read.
  public var accounts: PhoneAccounts? { get throws { try file.load() } }

  /// The device with which a user is signed in on this phone. The first call makes its id, and stores it. After a
  /// sign-out the user gets a new one.
  ///
  /// Throws the error of the secrets, for example before the first unlock of the phone, or `POSIXError` if the folder of
  /// the file cannot be used.
  public func device(of user: UserID) throws -> DeviceID {
    try file.locked {
      if let device = try storedDevice(of: user), (try? file.load())?.isUsable(device) != false { return device }
      let device = DeviceID(unchecked: UUID().uuidString.lowercased())
      try secrets.set(device.rawValue, of: .device(of: user))
      return device
    }
  }

  private func storedDevice(of user: UserID) throws -> DeviceID? {
    try secrets.value(of: .device(of: user)).flatMap(DeviceID.init(rawValue:))
  }

  /// The account for a request: that of the user, or ``PhoneAccounts/latest`` without a user.
  public func account(of user: UserID? = nil) -> PhoneAccounts.Account? {
    let accounts = try? file.load()
    return user.map { accounts?.account(of: $0) } ?? accounts?.latest
  }

  /// Returns the report key of an account. Throws `unauthorized` if no such account is signed in, or the error of the
  /// secrets.
  /// - Parameter user: A user of this phone, or `nil` for the user who registered last.
  public func identity(of user: UserID? = nil) throws -> Identity {
    guard let account = account(of: user), let key = try secrets.value(of: .reportKey(of: account.device)) else {
      throw StillwireError(.unauthorized, "this phone has no report key of \(user?.rawValue ?? "a user")")
    }
    return .reportKey(key)
  }

  /// Single requests with the report key of an account, such as the response to a notification.
  /// - Parameter user: The recipient of the push, or `nil` for the user who registered last.
  public func api(of user: UserID? = nil) -> RelayAPI { RelayAPI(relay, patience: patience) { try identity(of: user) } }

  /// Decides the content of a push that the phone shows. If the accounts cannot be read, a push of the relay is hidden.
  public func display(of origin: PushOrigin) -> PhoneAccounts.Display {
    do {
      return try file.load()?.display(of: origin) ?? .full
    } catch {
      return origin == .other ? .full : .hidden
    }
  }

  /// Donates the intent of a push. Donates nothing if the recipient is not signed in, and deletes the donation if the
  /// person signs out meanwhile: the sign-out has deleted the donations before this one.
  package func donate(
    for origin: PushOrigin, _ donation: @Sendable () async -> Void, orDelete delete: @Sendable () async -> Void
  ) async {
    guard display(of: origin) == .full else { return }
    await donation()
    if display(of: origin) == .hidden { await delete() }
  }

  // MARK: Registration

  /// Registers the device of a user if the registration is due, and saves the report key. Repeats the open sign-outs
  /// first. Registrations at the same time run one after the other.
  ///
  /// Throws ``StillwireError``, the error of the secrets, or `CocoaError` or `POSIXError` if the file cannot be changed.
  /// - Parameters:
  ///   - user: The user who is signed in. The phone shows the pushes to this user from now on.
  ///   - identity: Returns the user's token.
  ///   - registration: Makes the registration of a device.
  /// - Returns: The relay's reply, or `nil` if the relay already has this registration.
  public func register(
    _ user: UserID, as identity: @escaping @Sendable () async throws -> Identity,
    _ registration: @escaping @Sendable (DeviceID) async throws -> PushRegistration
  ) async throws -> DeviceRegistration? {
    try await Self.queue.perform {
      // The token also ends the former devices of the user whose report keys have not reached the phone.
      await contact(Token(user: user, identity: identity))
      let device = try device(of: user)
      // The user counts as signed in before the reply, because a push may arrive earlier than the reply.
      guard try file.apply(.signedIn(user, device)) != [.refuse] else {
        throw StillwireError(.badRequest, "a phone has at most \(PhoneAccounts.maxAccounts) accounts")
      }
      let registration = try await registration(device)
      let hasKey = (try? secrets.value(of: .reportKey(of: device))) != nil
      let last = account(of: user)?.registration
      guard registration.isDue(after: last, hasReportKey: hasKey, now: now()) else { return nil }
      _ = try file.apply(.requested(user, device))
      let registered = try await RelayAPI(relay, patience: patience, as: identity).register(registration)
      try secrets.set(registered.reportKey, of: .reportKey(of: device))
      let effects = try file.apply(.registered(user, device, registration.record(at: now())))
      await perform(effects, nil)
      return registered
    }
  }

  // MARK: Sign-out

  /// Signs a user out on this phone, also without a connection and without a token. The phone shows no text of the user's
  /// pushes when the method returns. ``repeatSignOuts(of:as:)`` then ends the device at the relay.
  ///
  /// Throws `CocoaError` or `POSIXError` if the file cannot be changed. Repeat it then.
  public func signOut(_ user: UserID) throws {
    let effects = try file.apply(.signedOut(user, try? storedDevice(of: user)))
    for effect in effects { removeSecret(of: effect) }
  }

  /// Requests the end of each device that is signed out, with its report key. Call it at each start and at each push.
  /// A sign-out stays open until the relay has confirmed it, or has answered that it does not know the device or its key.
  ///
  /// If the reply to a registration was lost, the phone has no report key of the device. The user's token then ends the
  /// device: here, or at the next registration of this user.
  /// - Parameters:
  ///   - user: The user of the token, if there is one.
  ///   - identity: Returns the user's token.
  /// - Returns: True if no sign-out is open.
  @discardableResult
  public func repeatSignOuts(
    of user: UserID? = nil, as identity: (@Sendable () async throws -> Identity)? = nil
  ) async -> Bool {
    // Without this check each push would wait for a registration in progress.
    guard hasSignOuts else { return true }
    let token = user.flatMap { user in identity.map { Token(user: user, identity: $0) } }
    _ = try? await Self.queue.perform { await contact(token) }
    return !hasSignOuts
  }

  /// True if a sign-out is open.
  public var hasSignOuts: Bool { (try? file.load())?.signOuts.isEmpty == false }

  /// The token of a user, for the sign-outs of this user that have no report key.
  private struct Token: Sendable {
    let user: UserID
    let identity: @Sendable () async throws -> Identity
  }

  private func contact(_ token: Token?) async {
    guard hasSignOuts, let effects = try? file.apply(.reached) else { return }
    await perform(effects, token)
  }

  private func perform(_ effects: [PhoneAccounts.Effect], _ token: Token?) async {
    for effect in effects {
      guard case .send(let signOut) = effect else {
        removeSecret(of: effect)
        continue
      }
      let reply = await send(signOut, token)
      for effect in (try? file.apply(.replied(signOut.device, reply))) ?? [] { removeSecret(of: effect) }
      // The next request would probably fail, too, and each failure takes the whole timeout.
      if reply == .failed { return }
    }
  }

  private func send(_ signOut: PhoneAccounts.SignOut, _ token: Token?) async -> PhoneAccounts.Reply {
    do {
      guard let key = try secrets.value(of: .reportKey(of: signOut.device)) else {
        guard signOut.isRequested, let token, token.user == signOut.user else { return .noKey }
        return await send(signOut, with: token)
      }
      try await RelayAPI(relay, patience: patience) { .reportKey(key) }.forget(signOut.device, of: signOut.user)
      return .confirmed
    } catch {
      return PhoneAccounts.Reply(error)
    }
  }

  private func send(_ signOut: PhoneAccounts.SignOut, with token: Token) async -> PhoneAccounts.Reply {
    do {
      try await RelayAPI(relay, patience: patience, as: token.identity).forget(signOut.device)
      return .confirmed
    } catch let error as StillwireError where error.code == .unreachable || error.isTemporary {
      return .failed
    } catch {
      // The token is not valid, which says nothing about the device.
      return .noKey
    }
  }

  /// Removes a secret. A report key that remains is harmless, because its sign-out is over. The final reply to the
  /// sign-out repeats the removal of the device's id.
  private func removeSecret(of effect: PhoneAccounts.Effect) {
    switch effect {
    case .forgetDevice(let user, let device):
      if (try? storedDevice(of: user)) == device { try? secrets.remove(.device(of: user)) }
    case .removeKey(let device): try? secrets.remove(.reportKey(of: device))
    case .refuse, .send: break
    }
  }

  /// Runs the requests of this process one after the other. The app and each extension have their own queues, so their
  /// requests may overlap. This is safe: each sign-in has a new device, so that a late sign-out cannot end a newer
  /// sign-in.
  private static let queue = SerialTasks()
}
