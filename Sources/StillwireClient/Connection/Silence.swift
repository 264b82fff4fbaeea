// SPDX-License-Identifier: Apache-2.0

/// Detects a relay that no longer responds. The relay's WebSocket pings do not count, because a proxy may send them. So
/// the client sends a `ping` frame of the protocol after a silence.
struct Silence: Equatable {
  enum Step: Equatable { case ping, giveUp }

  private let heartbeat: Duration
  private let patience: Duration
  private(set) var due: Duration
  private var wasPinged = false

  init(heartbeat: Duration, patience: Duration, at now: Duration) {
    self.heartbeat = heartbeat
    self.patience = patience
    due = now + heartbeat
  }

  mutating func received(at now: Duration) {
    wasPinged = false
    due = now + heartbeat
  }

  /// Returns true if the client must send a ping now, to find out if the relay still responds.
  mutating func probe(at now: Duration) -> Bool {
    guard !wasPinged else { return false }
    wasPinged = true
    due = now + patience
    return true
  }

  mutating func timePassed(at now: Duration) -> Step? {
    guard due <= now else { return nil }
    guard !wasPinged else { return .giveUp }
    wasPinged = true
    due = now + patience
    return .ping
  }
}
