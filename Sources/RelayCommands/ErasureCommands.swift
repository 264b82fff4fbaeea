// SPDX-License-Identifier: Apache-2.0

// Commands of backends that erase a person. `Erasures` performs the work.

import RelayFollowers
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Begins to erase a user.
struct EraseUser: Command {
  private static let messages = Field<MessageErasure>.choice(
    "messages", default: nil,
    "`delete`: the messages of the user lose their contents, as if the sender had deleted them. `anonymize`: they stay, "
      + "and their sender is a pseudonym.")

  package static let declaration = Declaration(
    "DELETE", "/v1/users/{user}", by: .backend, fields: [Self.messages], reach: .rooms,
    errors: [.conflict])

  private let user: UserID
  private let messages: MessageErasure

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    messages = try Self.messages.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let (erasure, closed) = try await relay.erasures.begin(of: user, messages, on: core)
    guard erasure.messages == messages else {
      throw RequestError(
        .conflict, "an erasure with messages=\(erasure.messages.rawValue) is in progress", at: "/query/messages")
    }
    let failure = relay.erasures.failures[erasure.id]
    return Reply(status: 202) {
      Replies.erasure(erasure, failure)(&$0)
      $0.integer("sessions", closed)
    }
  }
}

/// Reads the state of an erasure.
struct GetErasure: Command {
  package static let declaration = Declaration("GET", "/v1/erasures/{id}", by: .backend, errors: [.notFound])

  private let id: String

  init(_ request: Request) throws(RequestError) {
    id = try request.fields.required("id", request.fields.string("id", maxLength: 64))
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    guard let erasure = try await core.store.read({ [id] in try $0.erasures.erasure(id) }) else {
      throw RequestError(.notFound, "there is no such erasure, or it is no longer kept", at: "/path/id")
    }
    return Reply(Replies.erasure(erasure, relay.erasures.failures[id]))
  }
}

extension Replies {
  fileprivate static func erasure(
    _ erasure: ErasureRecord, _ failure: ErasureFailures.Failure?
  ) -> Reply.Members {
    {
      $0["erasure"] = erasure.id
      $0["state"] = erasure.finished == nil ? "running" : "done"
      $0["messages"] = erasure.messages.rawValue
      $0.integer("started", erasure.started.rawValue)
      $0.integer("finished", erasure.finished?.rawValue)
      $0.integer("leftRooms", erasure.rooms)
      $0.integer("changedMessages", erasure.changed)
      guard erasure.finished == nil, let failure else { return }
      $0.object("failure") {
        $0["cause"] = failure.cause.rawValue
        $0.integer("attempts", failure.count)
        $0.integer("time", failure.time.rawValue)
        $0.integer("retry", failure.retry.rawValue)
      }
    }
  }
}
