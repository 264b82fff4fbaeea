// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayDelivery
import RelayHub
import RelayProtocol
import RelayStore

/// Why somebody is pushed to, or is not: before a message is sent, and afterwards.
extension Relay {
  static let decisionRoutes = [
    Route("/v1/decisions", .called("POST", by: .backend) { relay, call in try await relay.postDecision(call) }),
    Route("/v1/pushes/{id}", .called("GET", by: .backend) { relay, call in try await relay.getPush(call) }),
  ]

  /// What would become of a message now. Nothing is sent or stored.
  private func postDecision(_ call: HTTPCall) async throws -> HTTPResponse {
    let fields = try parser.parse(call.request.body)
    let name = try fields.room
    let sender: UserID = try fields.required("from", fields.name("from"))
    let user: UserID = try fields.required("user", fields.name("user"))
    pin(name)
    defer { unpin(name) }
    guard let room = try await policy(of: name).isStored ? load(name) : hub.room(name) else {
      throw StoreError.noRoom(name)
    }
    let request = try SendRequest(
      fields, rights: .standard, newest: hub.position(of: room)?.seq ?? 0, isStored: policy(of: name).isStored)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    var traits = MessageTraits(from: sender, mentions: request.mentions, push: request.push)
    if !hub.pushes(room) { traits.push.isAsked = false }
    let cases = cases(of: traits, to: handle, user, in: room, name)
    return .json(200) {
      $0["room"] = name.rawValue
      $0["from"] = sender.rawValue
      $0["user"] = user.rawValue
      $0.array("devices") { list in
        for (device, facts) in cases {
          list.object {
            $0["device"] = device?.id.rawValue
            $0.raw("decision", Explanation.json(of: RelayDelivery.decide(facts, policy: policy)))
            $0.raw("facts", Explanation.json(of: facts))
          }
        }
      }
    }
  }

  /// One for each device, or one for none.
  private func cases(
    of message: MessageTraits, to user: UserHandle, _ name: UserID, in room: RoomHandle, _ roomName: RoomID
  ) -> [(device: Device?, facts: DeliveryCase)] {
    let now = hub.now
    let person = people[user] ?? Person()
    var recipient = person.facts(name, of: message, in: roomName, now: now)
    recipient.isMember = hub.isMember(user, of: room)
    let member = hub.undecided(room, user).member
    recipient.sessions = member.sessions.map { SessionFacts(activity: $0.activity, writing: .written(at: now)) }
    if recipient.isMember { recipient.away = AwayFacts(since: member.awaySince, isClean: member.isClean) }
    return person.cases(of: message.facts(at: now), for: recipient, in: apps, now: now)
  }

  private func getPush(_ call: HTTPCall) async throws -> HTTPResponse {
    guard let id = call.parts["id"], let job = try await store.read({ try $0.job(id) }) else {
      throw RequestError(.notFound, "there is no such push, or not any more", at: "/path/id")
    }
    return .json(200) {
      $0["id"] = job.id
      $0["room"] = job.room.rawValue
      $0.integer("seq", job.seq)
      $0["user"] = job.user.rawValue
      $0["device"] = job.device.rawValue
      $0["platform"] = job.platform.rawValue
      $0["state"] = job.state.rawValue
      $0["summary"] = PushSummary(job).text
      $0["level"] = job.level
      $0.integer("created", job.created.rawValue)
      $0.integer("due", job.due.rawValue)
      $0.array("attempts") { list in
        for attempt in job.attemptLog {
          list.object {
            $0.integer("time", attempt.time.rawValue)
            $0.integer("status", attempt.status)
            $0["reason"] = attempt.reason
            $0["words"] = attempt.words
          }
        }
      }
      $0.integer("finished", job.finishedAt?.rawValue)
      $0.integer("received", job.received?.rawValue)
      $0["note"] = job.note
      if job.isNotifyAnyway { $0.bool("notifyAnyway", true) }
      $0["mergedInto"] = job.mergedInto
      if !job.digest.isEmpty {
        $0.array("digest") { list in
          for part in job.digest {
            list.object {
              $0["room"] = part.room.rawValue
              $0.integer("seq", part.seq)
              $0.integer("count", part.count)
            }
          }
        }
      }
      $0.raw("explanation", job.explanation)
    }
  }
}

/// What became of a push, for who answers people's questions.
struct PushSummary {
  let text: String

  init(_ job: JobRecord) {
    let parts = [Self.fate(of: job), Self.grounds(of: job)].compactMap { $0 }
    text = parts.joined(separator: " ")
  }

  private static func fate(of job: JobRecord) -> String {
    let note = job.note.map { " (\($0))" } ?? ""
    return switch job.state {
    case .waiting, .ready: "It is about to be handed to the gateway."
    case .held: "It is held back until \(date(job.due)), or until the silence on the device ends."
    case .merged: "It is told by the push \(job.mergedInto ?? "of another message")."
    case .sending: "It is being handed to the gateway."
    case .retrying: "The gateway could not take it\(note); it is tried again at \(date(job.due))."
    case .sent: "The gateway has taken it\(note)."
    case .cancelled: "It was not needed any more\(note)."
    case .expired: "Its time was over before it could be sent\(note)."
    case .dead: "The gateway refused it for good\(note)."
    }
  }

  private static func grounds(of job: JobRecord) -> String? {
    let explained = job.explanation.flatMap { try? JSONDecoder().decode(Explanation.self, from: Data($0)) }
    guard let decision = explained?.decision else { return nil }
    let outcome =
      switch decision.outcome {
      case .push(let level): "It was to be pushed at the level \(level.rawValue)"
      case .hold(let end): "It was to be held until \(date(end)) at the latest"
      case .wait(let end): "It was to wait until \(date(end)) at the latest"
      case .none: "It was not to be pushed"
      }
    let words = decision.reasons.map { "rule \($0.rule), \($0.words)" }
    return "\(outcome): \(words.joined(separator: "; "))."
  }

  private static func date(_ time: Timestamp) -> String {
    Date(timeIntervalSince1970: Double(time.rawValue) / 1000).formatted(.iso8601)
  }
}
