// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// The origin of a push: the relay, for one of the users of this phone, or another sender.
public enum PushOrigin: Equatable, Sendable {
  /// A push of the relay. The user is the recipient, or `nil` if the payload does not name a valid one.
  case relay(UserID?)
  /// A push that the relay did not send.
  case other

  /// Reads a payload of any kind. A communication names the recipient in `communication`, and any other push in `push`.
  public init(_ payload: JSON) {
    guard let own = payload.push else {
      self = .other
      return
    }
    self = .relay(own.name("recipient"))
  }

  /// Reads the text of a payload. A text that is not JSON, or is longer than ``CommunicationPayload/maxSize``, is not a
  /// push of the relay.
  public init(reading text: some Collection<UInt8>) {
    guard let payload = JSON(payload: text) else {
      self = .other
      return
    }
    self.init(payload)
  }

  /// The recipient of a push of the relay.
  public var recipient: UserID? {
    guard case .relay(let user) = self else { return nil }
    return user
  }
}

extension JSON {
  /// The object of a payload that describes the push itself, such as its ids: a communication has `communication`, and
  /// any other push has `push`. Is `nil` if the relay did not send the push.
  var push: JSON? { self["communication"] ?? self["push"] }
}
