// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// An action in the simulated world. An action contains all that it needs, so that a part of a list can be replayed. An
/// action that is not possible at its turn is skipped.
enum Action: Sendable {
  case connect(Slot, acks: Bool, activity: Activity)
  case disconnect(Slot, Ending)
  /// From now on the client neither answers pings nor sends requests.
  case freeze(Slot)
  /// From now on the client gets its frames late, because its line is slow.
  case slow(Slot)
  /// The client gets the frames that its line has held up, and the next ones immediately.
  case catchUp(Slot)
  case request(Slot, ClientRequest)
  /// Requests of different users at the same time.
  case race([SlotRequest])
  /// The same request twice: the client repeats it before the reply to the first has come.
  case twice(Slot, ClientRequest)
  case answer(RecordingGateway.Answer, token: Int)
  /// Answers the pushes that the gateway has not answered yet.
  case letGo(hasSent: Bool)
  /// Time passes.
  case advance(Duration)
  /// The process is suspended for this time.
  case pause(Duration)
  /// A graceful end, and a start after this time.
  case restart(after: Duration)
  /// The process is killed at this point. If the point is not reached, the process is killed when it is idle. `during`
  /// are requests at the same time, and then `then` passes. The next start is after `after`.
  case crash(at: Fuse.Point?, during: [SlotRequest], then: Duration, after: Duration)

  /// True if several clients send requests at the same time.
  var isRace: Bool {
    switch self {
    case .race(let requests), .crash(_, let requests, _, _): requests.count > 1
    default: false
    }
  }

  struct SlotRequest: Sendable {
    let slot: Slot
    let request: ClientRequest
  }
}

/// The end of a client's connection.
enum Ending: Sendable, CaseIterable {
  case clean
  case goingAway
  case cut
}

/// The position from which a client requests the messages that it missed.
enum After: Sendable {
  case nothing
  /// The position that the clients of the slot have reached.
  case position
  case otherEpoch
  /// A position above the newest message.
  case tooFar
  /// The position, with the newest change that the clients of the slot have.
  case change
  /// The position, with a change above the newest one.
  case changeTooFar
}

extension Action: CustomStringConvertible {
  var description: String {
    switch self {
    case .connect(let slot, let acks, let activity): "\(slot) connects, \(activity)\(acks ? ", acks" : "")"
    case .disconnect(let slot, let ending): "\(slot) leaves: \(ending)"
    case .freeze(let slot): "\(slot) freezes"
    case .slow(let slot): "the line of \(slot) is slow"
    case .catchUp(let slot): "\(slot) catches up"
    case .request(let slot, let request): "\(slot) \(request)"
    case .race(let requests): "race: \(requests.map { "\($0.slot) \($0.request)" })"
    case .twice(let slot, let request): "\(slot) twice: \(request)"
    case .answer(let answer, let token): "the gateway answers pushes to \(World.tokens[token]) with \(answer)"
    case .letGo(let hasSent): "the pushes at the gateway are \(hasSent ? "sent" : "to be retried")"
    case .advance(let time): "\(time) pass"
    case .pause(let time): "a pause of \(time)"
    case .restart(let time): "a restart, \(time) later"
    case .crash(let point, let requests, let time, let down):
      "a crash at \(point.map { "\($0)" } ?? "rest") during \(requests.map { "\($0.slot) \($0.request)" }) and \(time), "
        + "\(down) later"
    }
  }
}
