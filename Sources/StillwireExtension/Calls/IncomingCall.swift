// SPDX-License-Identifier: Apache-2.0
// The call of a VoIP push, and the decision about its report. Has no dependency on CallKit.
public import Foundation
public import RelayJSON
public import RelayProtocol

/// An incoming call, as an app reports it to CallKit.
public struct IncomingCall: Equatable, Sendable {
  /// The id of the push, which also identifies the call for CallKit.
  public var id: UUID
  public var caller: IntentPerson
  /// The sender, the conversation and the message of the push.
  public var payload: CommunicationPayload
  /// The end of the ringing, by the clock of the relay.
  public var ringUntil: Timestamp
  /// The time from the sending of the push to the end of the ringing, at most ``RelayProtocol/Call/ringing``.
  public var ringFor: Duration
  /// The media that the sender's `data` state.
  public var media: Call.Media { payload.media }
  /// True if ``media`` is video.
  public var hasVideo: Bool { media == .video }
  /// The members of `data`: `communication`, `message`, and the sender's own.
  public var data: JSON

  /// Reads the payload of a VoIP push: an object with `call`, `ringUntil`, `ringFor` and `data`. Returns `nil` if the
  /// payload is not a call, or if the caller is missing.
  public init?(_ push: JSON) {
    guard let id = push["call"]?.text.flatMap(UUID.init(uuidString:)), let ringUntil = push.time("ringUntil"),
      let ringFor = push["ringFor"]?.integer, let data = push["data"], let payload = CommunicationPayload(data)
    else { return nil }
    self.id = id
    caller = IntentPerson(payload.sender)
    self.payload = payload
    self.ringUntil = ringUntil
    self.ringFor = .milliseconds(min(max(ringFor, 0), Int64(Call.ringing.upperBound * 1_000)))
    self.data = data
  }

  /// Reads the text of a payload. Also returns `nil` if it is longer than ``CommunicationPayload/maxSize`` or is not
  /// JSON.
  public init?(reading text: some Collection<UInt8>) {
    guard let push = JSON(payload: text) else { return nil }
    self.init(push)
  }

  /// The maximum delay of a push. The relay lets Apple's service try the push of a call once, so that the push arrives
  /// soon or not at all.
  public static let maxDelay = Duration.seconds(60)

  /// The time for which the phone rings after the push has arrived, or `nil` if the push is late.
  ///
  /// A push is late if its ringing ended less than ``maxDelay`` ago. If the ringing ended earlier, or ends in more than
  /// ``ringFor``, the clock of the phone or of the relay is wrong. The phone then rings for ``ringFor``, so that a wrong
  /// clock neither prevents nor prolongs the ringing.
  /// - Parameter now: The time of the phone when the push arrived.
  public func ringing(at now: Date) -> Duration? {
    let rest = Duration.milliseconds(ringUntil.rawValue - Int64((now.timeIntervalSince1970 * 1_000).rounded()))
    if rest > .zero { return min(rest, ringFor) }
    return rest > .zero - Self.maxDelay ? nil : ringFor
  }

  /// The report of a VoIP push to CallKit. The system ends an app that reports no call for a push with `mustReport`.
  /// Before iOS 26.4 all pushes are such pushes.
  public enum Report: Equatable, Sendable {
    /// Let the phone ring.
    case ring(IncomingCall)
    /// Report the call, and end it as unanswered: the push is late.
    case endUnanswered(IncomingCall)
    /// Report a call with this new id, and end it as failed: the payload is unreadable.
    case endFailed(UUID)
    /// Report the call again, because the push has arrived twice. CallKit refuses the call that it knows.
    case repeated(IncomingCall)
    /// Report nothing: the phone has nothing to show, and the system does not require a report.
    case nothing

    /// - Parameters:
    ///   - call: The call of the push. Is `nil` if the payload is unreadable.
    ///   - mustReport: `PKVoIPPushMetadata.mustReport`. Is true before iOS 26.4.
    ///   - isKnown: True if the app has reported the call, and it is not over.
    ///   - now: The time of the phone when the push arrived.
    public init(_ call: IncomingCall?, mustReport: Bool = true, isKnown: Bool = false, now: Date) {
      switch call {
      case let call? where isKnown: self = mustReport ? .repeated(call) : .nothing
      case let call? where call.ringing(at: now) != nil: self = .ring(call)
      case let call?: self = mustReport ? .endUnanswered(call) : .nothing
      case nil: self = mustReport ? .endFailed(UUID()) : .nothing
      }
    }
  }
}
