// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayFollowers
import RelayIdentity
import RelayJSON
package import RelayProtocol
package import RelayRequests
package import RelayState

/// An operation that sessions, users and backends request. ``Commands/all`` lists them.
///
/// A value is one request: `init` parses it, and `run` performs it. Both transports use the same type. Tests perform a
/// command as a backend or as a user, without a transport.
package protocol Command: Sendable {
  static var declaration: Declaration { get }
  /// The `operationId` in `openapi.json`, which the scopes of API keys contain.
  static var operation: String { get }

  /// Parses the request. Reads no state of the relay.
  init(_ request: Request) throws(RequestError)

  func run(_ relay: Relay, on core: isolated Core) async throws -> Reply
}

extension Command {
  /// Calls `body` with the room of the request, after it has checked the caller and the rights that the declaration
  /// names. Keeps the room in memory until `body` returns.
  ///
  /// Throws `not_joined`, `not_found`, and `forbidden` if the caller lacks a right.
  func inRoom<T>(
    of request: Request, _ relay: Relay, on core: isolated Core,
    _ body: nonisolated(nonsending) (RoomAccess) async throws -> T
  ) async throws -> T {
    let access = try await relay.rooms.admit(request, Self.declaration, on: core)
    defer { relay.memory.release(access.room, on: core) }
    return try await body(access)
  }
}

extension Relay {
  /// Checks that the caller may request a command, parses the request and performs it. Records the action of a backend.
  /// The transport has already charged the rate limit.
  package func perform(_ command: any Command.Type, _ request: Request, on core: isolated Core) async throws -> Reply {
    let action = audit.begin(Operation(command), request, on: core)
    do {
      let reply = try await run(command, request, on: core)
      if let action { await audit.end(action, room: reply.room, on: core) }
      return reply
    } catch {
      if !command.declaration.declares(error) {
        // The documents of the interface lack this error. Tests fail if a log contains this line.
        core.diagnostics.log.error("\(command) does not declare \(core.requestError(error).kind)")
      }
      if let action { await audit.end(action, RequestError(known: error)?.code ?? .internal, on: core) }
      throw error
    }
  }

  private func run(_ command: any Command.Type, _ request: Request, on core: isolated Core) async throws -> Reply {
    try command.declaration.callers.check(request.caller)
    if request.caller.key?.scope != nil {
      try backends.check(Operation(command), request.fields, by: request.caller)
    }
    // Over HTTP, the path may name another user. This error takes precedence over a missing right to the account, so the
    // request is parsed before. A frame is always about the session's own user.
    let parsed = request.caller.session == nil ? try command.init(request) : nil
    let needsAccount = if case .reporter = request.caller { false } else { !command.declaration.account.isEmpty }
    if needsAccount, let permissions = access.permissions(of: request.caller, on: core) {
      try permissions.check(command.declaration.account)
    }
    let ready = try parsed ?? command.init(request)
    // A repeated erasure returns the one in progress.
    if !(ready is EraseUser) { try erasures.check(request, command.declaration) }
    do {
      return try await ready.run(self, on: core)
    } catch let error as RequestError {
      throw request.fields.located(error)
    }
  }
}
