// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
import RelayProtocol
import RelayStore

/// The queue of pushes, for operators: what is in it, what became of one, and a dead letter once more.
extension Relay {
  static let pushRoutes = [
    Route("/v1/pushes", .called("GET", by: .backend) { relay, call in try await relay.getPushes(call) }),
    Route("/v1/pushes/{id}", .called("GET", by: .backend) { relay, call in try await relay.getPush(call) }),
    Route("/v1/pushes/{id}/retry", .called("POST", by: .backend) { relay, call in try await relay.postRetry(call) }),
  ]

  private func getPushes(_ call: HTTPCall) async throws -> HTTPResponse {
    let query = try PushQuery(call.request.arguments(numbers: ["limit"], texts: ["state", "user", "after"]))
    // Written where it is read: the summaries take time that the hub's thread has not.
    let answer = try await store.read { reader -> HTTPResponse? in
      let position = try query.after.map(reader.queue.position(of:))
      if case .some(nil) = position { return nil }
      // One more than is told, to know whether there are more.
      let found = try reader.queue.jobs(of: query.user, in: query.state, after: position ?? nil, limit: query.limit + 1)
      return .json(200) {
        $0.array("pushes") { list in
          for job in found.prefix(query.limit) { list.object { $0.members(of: job) } }
        }
        $0.bool("more", found.count > query.limit)
      }
    }
    guard let answer else {
      throw RequestError(.badRequest, "after is no push, or not any more", at: "/query/after")
    }
    return answer
  }

  private func getPush(_ call: HTTPCall) async throws -> HTTPResponse {
    guard let id = call.parts["id"], let answer = try await store.read({ try $0.queue.job(id).map(HTTPResponse.push) })
    else { throw noPush }
    return answer
  }

  private var noPush: RequestError {
    RequestError(.notFound, "there is no such push, or not any more", at: "/path/id")
  }

  private func postRetry(_ call: HTTPCall) async throws -> HTTPResponse {
    guard let id = call.parts["id"] else { throw noPush }
    guard let (revival, user) = try await store.write({ try $0.queue.revive(id) }) else { throw noPush }
    switch revival {
    case .known: break
    case .refused(let refusal): throw RequestError(.conflict, refusal.rawValue, at: "/path/id")
    case .begun:
      // Also where this request ends here.
      deliveries.holds.expectEnd(by: hub.now, on: self)
      try await deliveries.holds.decideAgain(user, on: self)
    }
    return try await getPush(call)
  }
}

/// Which pushes are asked for.
private struct PushQuery {
  let state: JobState?
  let user: UserID?
  /// The last one of the page before.
  let after: String?
  let limit: Int

  static let most = 100
  static let usual = 50

  init(_ fields: Fields) throws(RequestError) {
    state = try fields.choice("state")
    user = try fields.name("user")
    after = try fields.string("after", longest: 64)
    limit = Int(try fields.integer("limit", 1...Int64(Self.most)) ?? Int64(Self.usual))
  }
}

extension HTTPResponse {
  /// A push at length.
  fileprivate static func push(_ job: JobRecord) -> HTTPResponse {
    .json(200) {
      $0.members(of: job)
      $0.raw("explanation", job.explanation)
    }
  }
}

extension JSONWriter.Object {
  /// A push without its explanation; its token is never shown.
  fileprivate mutating func members(of job: JobRecord) {
    self["id"] = job.id
    if !job.room.isNotifications {
      self["room"] = job.room.rawValue
      integer("seq", job.seq)
    }
    self["user"] = job.user.rawValue
    self["device"] = job.device.rawValue
    self["platform"] = job.platform.rawValue
    self["state"] = job.state.rawValue
    self["summary"] = PushSummary(job).text
    self["level"] = job.level?.rawValue
    integer("created", job.created.rawValue)
    integer("due", job.due.rawValue)
    array("attempts") { list in
      for attempt in job.attemptLog { list.object { $0.members(of: attempt) } }
    }
    integer("finished", job.finishedAt?.rawValue)
    integer("received", job.received?.rawValue)
    integer("revived", job.revived?.rawValue)
    self["note"] = job.note
    if job.isNotifyAnyway { bool("notifyAnyway", true) }
    self["mergedInto"] = job.mergedInto
    guard !job.digest.isEmpty else { return }
    array("digest") { list in
      for part in job.digest {
        list.object {
          $0["room"] = part.room.rawValue
          $0.integer("seq", part.seq)
          $0.integer("count", part.count)
        }
      }
    }
  }

  private mutating func members(of attempt: PushAttempt) {
    integer("time", attempt.time.rawValue)
    integer("status", attempt.status)
    self["reason"] = attempt.reason
    self["words"] = attempt.words
  }
}
