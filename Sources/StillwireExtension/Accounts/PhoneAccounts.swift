// SPDX-License-Identifier: Apache-2.0
// The accounts of a phone as a pure state machine: the users who are signed in, and the sign-outs that the relay has not
// confirmed. `AccountStore` performs its effects with a file, the Keychain and the relay.
public import RelayProtocol

/// The accounts of an app on one phone.
///
/// An account leaves the phone in one step, also without a connection. From then on the phone shows no text of a push to
/// this user. The sign-out stays open until the relay has confirmed it.
public struct PhoneAccounts: Equatable, Sendable {
  /// Maximum number of users who are signed in at the same time: those that may share a push token at the relay.
  public static let maxAccounts = Device.maxAccounts
  /// Maximum number of open sign-outs. Beyond it, the oldest is dropped: the phone still shows no text of its user.
  public static let maxSignOuts = 32

  /// A user who is signed in. Each sign-in has a device of its own, so that a late sign-out cannot end a newer sign-in.
  public struct Account: Equatable, Sendable {
    public var user: UserID
    public var device: DeviceID
    /// The last registration that the relay has accepted.
    public var registration: PushRegistration.Record?
    /// True if the app has sent a registration of the device. The relay may have it, also if its reply was lost.
    public var isRequested: Bool

    public init(
      user: UserID, device: DeviceID, registration: PushRegistration.Record? = nil, isRequested: Bool = false
    ) {
      self.user = user
      self.device = device
      self.registration = registration
      self.isRequested = isRequested || registration != nil
    }
  }

  /// A sign-out that the relay has not confirmed.
  public struct SignOut: Equatable, Sendable {
    public var user: UserID
    public var device: DeviceID
    /// True if the app has sent a registration of the device, see ``Account/isRequested``.
    public var isRequested: Bool

    public init(user: UserID, device: DeviceID, isRequested: Bool = false) {
      self.user = user
      self.device = device
      self.isRequested = isRequested
    }
  }

  /// The accounts, the one that registered last at the end.
  public private(set) var accounts: [Account]
  /// The open sign-outs, the oldest first.
  public private(set) var signOuts: [SignOut]

  /// Makes a state. Values beyond the maximum are dropped, the oldest first.
  public init(accounts: [Account] = [], signOuts: [SignOut] = []) {
    self.accounts = accounts.suffix(Self.maxAccounts)
    self.signOuts = signOuts.suffix(Self.maxSignOuts)
  }

  /// The account of a user who is signed in.
  public func account(of user: UserID) -> Account? { accounts.first { $0.user == user } }

  /// The account for a request of the phone, such as a Focus report: the one that registered last. Without a
  /// registration it is the one that signed in last, which has no report key yet.
  public var latest: Account? { accounts.last { $0.registration != nil } ?? accounts.last }

  /// False if the device belongs to an open sign-out. The next sign-in of its user needs another id.
  public func isUsable(_ device: DeviceID) -> Bool { !signOuts.contains { $0.device == device } }

  // MARK: Pushes

  /// The content of a push that the phone shows.
  public enum Display: Equatable, Sendable {
    case full
    /// "New message", without sender, text and picture.
    case hidden
  }

  /// Decides the content of a push. A push of the relay for a user who is not signed in is hidden, also after the
  /// confirmation of the sign-out, because the push service may deliver a push late.
  public func display(of origin: PushOrigin) -> Display {
    switch origin {
    case .other: .full
    case .relay(let user?): account(of: user) == nil ? .hidden : .full
    // The recipient may be a user who has signed out.
    case .relay(nil): accounts.isEmpty || !signOuts.isEmpty ? .hidden : .full
    }
  }

  /// Returns the identifiers of the notifications of users who are not signed in.
  /// - Parameter delivered: The notifications that the phone shows.
  public func identifiersToHide(in delivered: [DeliveredNotification]) -> [String] {
    delivered.filter { display(of: $0.origin) == .hidden }.map(\.identifier)
  }

  // MARK: Inputs

  /// An event of the app or of the relay.
  public enum Input: Equatable, Sendable {
    /// The app begins to register this device of the user.
    case signedIn(UserID, DeviceID)
    /// The app sends a registration of this device. Its reply may be lost.
    case requested(UserID, DeviceID)
    /// The relay has accepted the registration.
    case registered(UserID, DeviceID, PushRegistration.Record)
    /// The person has signed out, perhaps without a connection. The store sends ``reached`` afterwards. The device is
    /// the one in the Keychain, or `nil` if the Keychain has none.
    case signedOut(UserID, DeviceID?)
    /// The phone may have a connection to the relay: at a start, a registration or a push.
    case reached
    /// The relay has replied to a sign-out.
    case replied(DeviceID, Reply)
  }

  /// The result of a sign-out at the relay.
  public enum Reply: Equatable, Sendable, CaseIterable {
    /// The relay has forgotten the device.
    case confirmed
    /// The relay does not know the device or its report key.
    case ended
    /// The Keychain has no report key of the device, and no token of the user ends the device. The sign-out is over only
    /// if the app has never sent a registration.
    case noKey
    /// The relay did not answer, or could not sign out now.
    case failed
  }

  /// The work that follows from an input, in this order.
  public enum Effect: Equatable, Sendable {
    /// The phone has the maximum number of accounts.
    case refuse
    /// Forget this id of the user's device, so that the next sign-in has a new one. A newer id stays.
    case forgetDevice(UserID, DeviceID)
    /// Request the end of the device from the relay. ``Input/replied(_:_:)`` follows.
    case send(SignOut)
    /// Remove the report key of this device.
    case removeKey(DeviceID)
  }

  /// Applies an input, and returns the work that follows from it.
  public mutating func apply(_ input: Input) -> [Effect] {
    switch input {
    case .signedIn(let user, let device): signIn(user, device)
    case .requested(let user, let device): requested(user, device)
    case .registered(let user, let device, let record): registered(user, device, record)
    case .signedOut(let user, let device): signOut(user, device)
    case .reached: signOuts.map(Effect.send)
    case .replied(let device, let reply): replied(device, reply)
    }
  }

  private mutating func signIn(_ user: UserID, _ device: DeviceID) -> [Effect] {
    if let index = accounts.firstIndex(where: { $0.user == user }) {
      // The Keychain has another id, for example after a backup was restored on a new phone.
      if accounts[index].device != device { accounts[index] = Account(user: user, device: device) }
      return []
    }
    guard accounts.count < Self.maxAccounts else { return [.refuse] }
    accounts.append(Account(user: user, device: device))
    return []
  }

  private mutating func requested(_ user: UserID, _ device: DeviceID) -> [Effect] {
    if let index = accounts.firstIndex(where: { $0.user == user && $0.device == device }) {
      accounts[index].isRequested = true
    } else if let index = signOuts.firstIndex(where: { $0.device == device }) {
      signOuts[index].isRequested = true
    }
    return []
  }

  private mutating func registered(_ user: UserID, _ device: DeviceID, _ record: PushRegistration.Record) -> [Effect] {
    if let index = accounts.firstIndex(where: { $0.user == user && $0.device == device }) {
      accounts.remove(at: index)
      accounts.append(Account(user: user, device: device, registration: record))
      return []
    }
    // The person signed out before the reply. The relay may have handled the sign-out before the registration, so that
    // the device is registered again. Request its end once more.
    let signOut = SignOut(user: user, device: device, isRequested: true)
    return open(signOut) + [.send(signOut)]
  }

  private mutating func signOut(_ user: UserID, _ device: DeviceID?) -> [Effect] {
    let account = account(of: user)
    accounts.removeAll { $0.user == user }
    guard let known = account?.device ?? device else { return [] }
    let signOut = SignOut(user: user, device: known, isRequested: account?.isRequested == true)
    return open(signOut) + [.forgetDevice(user, known)]
  }

  /// Adds an open sign-out. Returns the effects of those that are dropped.
  private mutating func open(_ signOut: SignOut) -> [Effect] {
    var signOut = signOut
    if signOuts.contains(where: { $0.device == signOut.device && $0.isRequested }) { signOut.isRequested = true }
    signOuts.removeAll { $0.device == signOut.device }
    signOuts.append(signOut)
    let dropped = signOuts.prefix(max(0, signOuts.count - Self.maxSignOuts))
    signOuts.removeFirst(dropped.count)
    return dropped.map { .removeKey($0.device) }
  }

  private mutating func replied(_ device: DeviceID, _ reply: Reply) -> [Effect] {
    guard reply != .failed, let index = signOuts.firstIndex(where: { $0.device == device }) else { return [] }
    if reply == .noKey, signOuts[index].isRequested { return [] }
    let user = signOuts.remove(at: index).user
    // The Keychain may have been locked at the sign-out, so that it still has the id.
    return [.removeKey(device), .forgetDevice(user, device)]
  }
}

extension PhoneAccounts.Reply {
  /// The result of a request that has thrown an error.
  public init(_ error: any Error) {
    switch (error as? StillwireError)?.code {
    case .refused(.unauthorized), .refused(.notFound): self = .ended
    default: self = .failed
    }
  }
}
