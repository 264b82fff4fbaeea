// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// One message, after it was sent.
extension Relay {
  static let sentMessageRoutes = [
    Route(
      "/v1/rooms/{room}/messages/{seq}",
      .called("PUT", by: .anyone(.send)) { relay, call in try await relay.putMessage(call) },
      .called("DELETE", by: .anyone(.send)) { relay, call in try await relay.deleteMessage(call) }),
    Route(
      "/v1/rooms/{room}/messages/{seq}/notify",
      .called("POST") { relay, call in try await relay.postNotify(call) }),
  ]

  private func putMessage(_ call: HTTPCall) async throws -> HTTPResponse {
    try await withMessage(call, needs: .send) { room, handle in
      try checkKeeps(room)
      let seq = try call.seq
      let fields = try parser.parse(call.request.body)
      let body = try fields.required("body", fields.raw("body"))
      if case .user(let user) = call.caller, let user = hub.user(user.id) {
        try spend(editIn: handle, of: room, by: user)
      }
      try await edit(seq, body: body, in: room, handle, by: try call.actor("from", fields), cause: nil)
      return .json(200) {
        $0["room"] = room.rawValue
        $0.integer("seq", seq)
      }
    }
  }

  private func deleteMessage(_ call: HTTPCall) async throws -> HTTPResponse {
    try await withMessage(call, needs: []) { room, handle in
      try checkKeeps(room)
      let isModerator = rights(of: call.caller, in: room).contains(.moderate)
      var sender: UserID?
      if case .user(let user) = call.caller, !isModerator { sender = user.id }
      if case .user(let user) = call.caller, let user = hub.user(user.id) {
        try spend(sendTo: handle, by: user, pushes: true)
      }
      do {
        try await delete(call.seq, in: room, handle, by: sender, cause: nil)
      } catch let error as RequestError where error.code == .notFound {
        // What is not there is deleted.
      }
      return HTTPResponse(status: 204)
    }
  }

  private func postNotify(_ call: HTTPCall) async throws -> HTTPResponse {
    try await withMessage(call, needs: []) { room, _ in
      let fields = call.request.body.isEmpty ? Fields([:]) : try parser.parse(call.request.body)
      let request = try NotifyRequest(seq: try call.seq, fields)
      let count = try await notify(request, in: room, by: try call.actor("from", fields))
      return .json(200) { $0.integer("push", count) }
    }
  }

  /// Does what a session asks for with `room` and `seq`, which are parts of the path here.
  private func withMessage(
    _ call: HTTPCall, needs rights: Rights, _ work: (RoomID, RoomHandle) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    do {
      return try await withRoom(call, needs: rights, work)
    } catch var error as RequestError where ["/room", "/seq"].contains(error.at) {
      error.at = error.at.map { "/path\($0)" }
      throw error
    }
  }
}

extension HTTPCall {
  /// The `{seq}` of the path.
  fileprivate var seq: Int64 {
    get throws(RequestError) {
      guard let text = parts["seq"], text.utf8.allSatisfy({ (48...57).contains($0) }), let seq = Int64(text),
        (1...largestInteger).contains(seq)
      else { throw RequestError(.badRequest, "the seq in the path must be an integer from 1", at: "/path/seq") }
      return seq
    }
  }
}
