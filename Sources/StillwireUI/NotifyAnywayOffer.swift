// SPDX-License-Identifier: Apache-2.0
// The offer of Notify Anyway for one message, and the progress of its request. Has no dependency on SwiftUI.
public import StillwireClient

/// The offer to notify the members whose Focus silenced a message.
public struct NotifyAnywayOffer: Equatable, Sendable {
  /// The progress of the offer.
  public enum Step: Equatable, Sendable {
    /// The person has not chosen it yet, or the last attempt failed.
    case offered(StillwireError?)
    /// The request is on its way.
    case sending
    /// The relay notifies this number of members. Is 0 if nobody allows Notify Anyway.
    case notified(Int)
  }

  /// The message.
  public let seq: Int64
  /// The members.
  public let users: [UserID]
  public private(set) var step = Step.offered(nil)

  /// Makes the offer for a sent message. Returns `nil` if no Focus silenced it.
  public init?(_ sent: Sent) {
    guard let users = sent.delivery?.silenced else { return nil }
    self.init(seq: sent.seq, users: users)
  }

  init?(seq: Int64, users: [UserID]) {
    guard !users.isEmpty else { return nil }
    self.seq = seq
    self.users = users
  }

  /// True if the person can choose the offer now.
  public var isOpen: Bool {
    if case .offered = step { true } else { false }
  }

  /// Begins the request. Returns false if it has begun before, so that two taps send one request.
  mutating func begin() -> Bool {
    guard isOpen else { return false }
    step = .sending
    return true
  }

  mutating func end(_ result: Result<Int, StillwireError>) {
    switch result {
    case .success(let count): step = .notified(count)
    case .failure(let error): step = .offered(error)
    }
  }
}
