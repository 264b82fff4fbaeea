// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayFollowers
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Authenticates a session by its `hello`, and sends the `welcome`.
extension Relay {
  /// A rejected `hello`: the error, and the code of the close that follows.
  private struct Refusal: Error {
    let error: RequestError
    let close: CloseCode
    /// True for a client that has sent no token.
    var isTokenMissing = false
  }

  /// Performs a `hello`. Returns the error if it is rejected, and `nil` for a welcome.
  func hello(_ request: HubRequest, on core: isolated Core) async -> RequestError? {
    do {
      try await welcome(request, on: core)
      return nil
    } catch {
      await delay(error, to: request.session, on: core)
      core.hub.push(core.refusal(request.id, error.error), to: request.session)
      core.hub.close(request.session, error.close, error.error.message)
      return error.error
    }
  }

  /// Waits if this client or others of its address are refused for good again and again.
  private func delay(_ refusal: Refusal, to session: SessionHandle, on core: isolated Core) async {
    guard !refusal.close.reconnects, !refusal.isTokenMissing, let address = core.hub.address(of: session),
      refusalPace.refused(address, at: .now)
    else { return }
    try? await Task.sleep(for: RefusalPace.delay)
    refusalPace.answered()
  }

  /// The pause between two looks at the pongs of a user's sessions, and the maximum wait.
  private static let look = Duration.milliseconds(50), maxWait = Duration.seconds(6)

  /// If the user has the maximum number of sessions, waits until they have answered a ping, or until one of them counts
  /// as dead. The sessions of a network that is gone would otherwise keep new sessions out for half a minute.
  private func awaitPlace(for user: UserHandle, on core: isolated Core) async {
    guard core.hub.probeSessions(of: user) else { return }
    let end = ContinuousClock.now + Self.maxWait
    while core.hub.awaitsPongs(of: user), ContinuousClock.now < end { try? await Task.sleep(for: Self.look) }
  }

  private func welcome(_ request: HubRequest, on core: isolated Core) async throws(Refusal) {
    let details: HelloDetails
    do {
      details = try HelloDetails(request.fields)
    } catch {
      throw Refusal(error: error, close: .badRequest)
    }
    let identity = try await identify(request, on: core)
    let profile = identity.user
    let handle: UserHandle
    do {
      handle = try await people.retain(profile.id, on: core)
    } catch {
      throw Refusal(error: core.requestError(error), close: .serverError)
    }
    defer { core.hub.release(handle) }
    await awaitPlace(for: handle, on: core)
    let withdrawn: Set<RoomID>
    let invitations: Int
    var list: Inbox.Start?
    do {
      withdrawn = try await access.withdrawnRooms(identity.permissions, of: handle, on: core)
      invitations = try await self.invitations.count(of: handle, named: profile.id, on: core)
      if let options = details.inbox { list = try await inbox.start(options, of: profile.id, on: core) }
    } catch {
      throw Refusal(error: core.requestError(error), close: .serverError)
    }
    // A backend may have restricted the user during the reads.
    if let refusal = restrictions.refusal(of: identity, on: core) {
      throw Refusal(error: refusal.requestError, close: refusal.close)
    }
    do {
      try erasures.admit(profile.id)
    } catch {
      throw Refusal(error: error, close: .serverError)
    }
    do {
      try core.hub.open(
        request.session, of: handle, device: details.device, acks: details.acks, activity: details.activity)
    } catch .tooMany {
      let error = RequestError(.tooLarge, "the limit `sessionsPerUser` is exceeded")
      throw Refusal(error: error, close: .tooManySessions)
    } catch {
      return  // the client has left
    }
    if let device = details.device, recipients[handle].devices.contains(where: { $0.id == device }) {
      core.store.submit({ try $0.updates.alive(device, of: profile.id) }, isUrgent: false) { _ in }
    }
    access.admit(request.session, as: identity, on: core)
    people.note(identity.permissions, withdrawing: withdrawn, of: handle, on: core)
    showProfile(of: profile, handle, requester: request.session, on: core)
    if let list { inbox.subscribe(request.session, of: handle, list, on: core) }
    core.hub.finish(
      request.session,
      with: Replies.welcome(
        core.hub.profile(of: handle) ?? profile, request.session, request, expires: identity.expires,
        heartbeat: core.limits.heartbeat, limits: limitsText, inbox: list, invitations: invitations, now: core.hub.now,
        clock: core.moment.stepless))
    responses.sendUnconfirmed(to: request.session, of: profile.id, on: core)
    calls.sendRinging(to: request.session, of: handle, on: core)
  }

  /// Applies the profile of a token or of a `hello`, unless it contains only the name of the user.
  func showProfile(of claimed: User, _ handle: UserHandle, requester: SessionHandle, on core: isolated Core) {
    guard claimed != User(id: claimed.id) else { return }
    var user = core.hub.profile(of: handle) ?? claimed
    user.name = claimed.name ?? user.name
    user.avatar = claimed.avatar ?? user.avatar
    // Only pushes contain these fields.
    (user.handle, user.handleType) = (claimed.handle, claimed.handleType)
    user.avatarSHA256 = claimed.avatar == nil ? nil : claimed.avatarSHA256
    core.hub.setProfile(user, of: handle, requester: requester)
    // Updates the user in the store, if the store has the user. A join stores new users.
    late.saveProfile(user, on: core)
  }

  private func identify(_ request: HubRequest, on core: isolated Core) async throws(Refusal) -> Identity {
    let fields = request.fields
    switch core.settings.authentication {
    case .open:
      guard !fields.has("token") || fields.isNull("token") else {
        let error = RequestError(
          .unsupported, "token is not used in open mode; set user instead", at: "/token")
        throw Refusal(error: error, close: .badRequest)
      }
      do {
        return Identity(user: try fields.openUser)
      } catch {
        throw Refusal(error: error, close: .badRequest)
      }
    case .tokens(let verifier):
      for key in ["user", "name", "avatar"] where fields.has(key) && !fields.isNull(key) {
        throw Refusal(error: RequestError(.forbidden, "the token sets \(key)", at: "/\(key)"), close: .forbidden)
      }
      return try await verify(request, verifier, on: core)
    }
  }

  private func verify(
    _ request: HubRequest, _ verifier: TokenVerifier, on core: isolated Core
  ) async throws(Refusal) -> Identity {
    let inFrame: String?
    do {
      inFrame = try HelloDetails.tokenField.value(in: request.fields)
    } catch {
      throw Refusal(error: error, close: .badRequest)
    }
    guard let token = inFrame ?? core.hub.authorization(of: request.session).flatMap(bearerToken) else {
      throw Refusal(
        error: RequestError(.unauthorized, "a token is needed"), close: .unauthorized, isTokenMissing: true)
    }
    do {
      return try await verifier.verify(token)
    } catch {
      throw Refusal(error: error.requestError, close: error.close)
    }
  }
}

/// Returns the token of an `Authorization: Bearer` header (RFC 6750).
package func bearerToken(_ header: String) -> String? {
  let parts = header.split(separator: " ", maxSplits: 1)
  guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
  return String(parts[1].drop { $0 == " " })
}

extension Replies {
  /// The limits that a `welcome` shows, as JSON.
  static func limits(_ limits: Limits) -> [UInt8] {
    JSONWriter.object {
      for entry in Limits.entries { $0.decimal(entry.name, limits[entry]) }
      $0.array("preferences") { list in Preferences.names.forEach { list.string($0) } }
    }
  }

  /// - Parameters:
  ///   - expires: The time at which the token of the session expires. Is `nil` without a token.
  ///   - limits: The text that ``limits(_:)`` returns.
  ///   - inbox: The begin of the events of the list of rooms. Is `nil` for a session without them.
  ///   - invitations: The number of open invitations.
  ///   - clock: The time by the stepless clock.
  static func welcome(
    _ user: User, _ session: SessionHandle, _ request: HubRequest, expires: Timestamp?, heartbeat: Double,
    limits: [UInt8], inbox: Inbox.Start?, invitations: Int, now: Timestamp, clock: Timestamp
  ) -> [UInt8] {
    ok(request, type: "welcome", always: true) {
      $0["user"] = user.id.rawValue
      $0["name"] = user.name
      $0["session"] = String(session.rawValue, radix: 36)
      $0.decimal("heartbeat", heartbeat)
      $0.integer("time", now.rawValue)
      $0.integer("clock", clock.rawValue)
      $0.integer("expires", expires?.rawValue)
      $0.raw("limits", limits)
      if let inbox {
        $0.object("inbox") {
          $0["position"] = inbox.position.text
          if inbox.isReset { $0.bool("reset", true) }
        }
      }
      if invitations > 0 { $0.integer("invitations", invitations) }
      $0["server"] = "stillwire/\(stillwireVersion)"
    }
  }
}

/// The members of `hello` beside the identity.
struct HelloDetails {
  package let device: DeviceID?
  package let acks: Bool
  package let activity: Activity
  /// Is `nil` if the session gets no events of the list of rooms.
  package let inbox: Inbox.Options?

  fileprivate static let tokenField = Field<String?>.text(
    "token", maxLength: nil,
    "A user's token, if the handshake had no `Authorization: Bearer`. Not in open mode. At most 8 KiB.")
  private static let deviceField = Field<DeviceID?>.name("device", "The stable name of this installation.")
  private static let acksField = Field<Bool?>.flag("acks", "true: this client sends `received`.")
  private static let activityField = Field<Activity?>.choice("activity", schema: "schemas.json#/Activity")
  private static let app = Field<String?>.text("app", maxLength: 255, "The app. At most 255 bytes.")
  private static let clientName = Field<String?>.text("name", maxLength: 255)
  private static let version = Field<String?>.text("version", maxLength: 255)
  private static let client = Field<Fields?>.object("client", ObjectDeclaration(fields: [clientName, version]))

  static let fields: [any DeclaredField] =
    [tokenField] + User.openFields + [deviceField, acksField, activityField, Inbox.Options.field, app, client]

  init(_ fields: Fields) throws(RequestError) {
    device = try Self.deviceField.value(in: fields)
    acks = try Self.acksField.value(in: fields) ?? false
    activity = try Self.activityField.value(in: fields) ?? .active
    inbox = try Inbox.Options(hello: fields)
    _ = try Self.app.value(in: fields)
    let client = try Self.client.value(in: fields) ?? Fields([:])
    _ = try Self.clientName.value(in: client)
    _ = try Self.version.value(in: client)
  }
}
