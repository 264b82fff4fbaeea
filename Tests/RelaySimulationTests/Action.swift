// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// Something that happens to the simulated world. It names all that it needs, so that a list of them with some taken
/// out can be played as well; what is not possible at its turn is passed over.
enum Action: Sendable {
  case connect(Slot, acks: Bool, activity: Activity)
  case disconnect(Slot, Ending)
  /// From now on the client neither answers pings nor asks for anything.
  case freeze(Slot)
  case ask(Slot, Ask)
  /// All at once, each of another user.
  case race([Asked])
  case answer(RecordingGateway.Answer, token: Int)
  /// What the gateway has not answered yet.
  case letGo(hasSent: Bool)
  /// Time goes by.
  case advance(Duration)
  /// The process stands still for so long.
  case pause(Duration)
  /// An orderly end, and a start so much later.
  case restart(after: Duration)
  /// The process is killed at the point, or at rest if that is not reached while all of this is asked and then time
  /// goes by; and a start so much later.
  case crash(at: Fuse.Point?, during: [Asked], then: Duration, after: Duration)

  /// Whether several clients say something at once.
  var isRace: Bool {
    switch self {
    case .race(let asks), .crash(_, let asks, _, _): asks.count > 1
    default: false
    }
  }

  struct Asked: Sendable {
    let slot: Slot
    let ask: Ask
  }
}

/// How a client leaves.
enum Ending: Sendable, CaseIterable {
  case clean
  case goingAway
  case cut
}

/// From where a client wants to be told what it missed.
enum After: Sendable {
  case nothing
  /// How far clients of the slot have come.
  case position
  case otherEpoch
  /// Beyond what there is.
  case tooFar
}

extension Action: CustomStringConvertible {
  var description: String {
    switch self {
    case .connect(let slot, let acks, let activity): "\(slot) connects, \(activity)\(acks ? ", acks" : "")"
    case .disconnect(let slot, let ending): "\(slot) leaves: \(ending)"
    case .freeze(let slot): "\(slot) freezes"
    case .ask(let slot, let ask): "\(slot) \(ask)"
    case .race(let asks): "race: \(asks.map { "\($0.slot) \($0.ask)" })"
    case .answer(let answer, let token): "\(World.tokens[token]) is answered: \(answer)"
    case .letGo(let hasSent): "what waits at the gateway is \(hasSent ? "sent" : "to be retried")"
    case .advance(let time): "\(time) go by"
    case .pause(let time): "a pause of \(time)"
    case .restart(let time): "a restart, \(time) later"
    case .crash(let point, let asks, let time, let down):
      "a crash at \(point.map { "\($0)" } ?? "rest") during \(asks.map { "\($0.slot) \($0.ask)" }) and \(time), "
        + "\(down) later"
    }
  }
}
