// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol
import StillwireExtension

/// A page of the calls of a room.
public struct CallPage: Equatable, Sendable {
  /// Newest first.
  public var calls: [CallRecord]
  /// True if the room has older calls.
  public var more: Bool
}

extension Room {
  /// Rings for all members of the room. If another member's call rings there, answers it. The app need not have joined
  /// the room.
  /// - Parameters:
  ///   - push: Options for the push of the call. `expires` is the time of the ringing, 1 to 600 s.
  ///   - key: An idempotency key, at most 128 bytes.
  @discardableResult
  public func ring(media: Call.Media = .audio, push: JSON? = nil, key: String? = nil) async throws -> CallRecord {
    var fields: [String: JSON] = ["media": .string(media.rawValue)]
    fields["push"] = push
    fields["key"] = key.map(JSON.string)
    return try await perform("ring", fields)
  }

  /// Answers a call of the room. The ringing ends on all other devices of the user. Throws `conflict` on a second
  /// device.
  @discardableResult
  public func answer(_ seq: Int64) async throws -> CallRecord { try await perform("answer", ["seq": seq.json]) }

  /// Declines a call of the room on all devices of the user.
  @discardableResult
  public func decline(_ seq: Int64) async throws -> CallRecord { try await perform("decline", ["seq": seq.json]) }

  /// Leaves a call of the room, or cancels the user's own call before anybody answers. Throws `conflict` if another
  /// device of the user has answered, unless it answered in a session and has no open session any more.
  /// - Parameter device: The device of the user that has answered, if it cannot hang up itself. Then there is no
  ///   conflict.
  @discardableResult
  public func hangUp(_ seq: Int64, device: DeviceID? = nil) async throws -> CallRecord {
    var fields = ["seq": seq.json]
    fields["device"] = device.map { .string($0.rawValue) }
    return try await perform("hangup", fields)
  }

  /// Reads a call of the room.
  public func call(_ seq: Int64) async throws -> CallRecord { try await perform("call", ["seq": seq.json]) }

  /// Lists the calls of the room, newest first.
  /// - Parameters:
  ///   - before: The calls have a lower seq. Is `nil` for the newest calls.
  ///   - limit: The maximum number of calls, 1 to 20.
  public func calls(before: Int64? = nil, limit: Int = 20) async throws -> CallPage {
    var fields: [String: JSON] = ["limit": .number(String(limit))]
    fields["before"] = before?.json
    let reply = try await request("calls", fields)
    return CallPage(calls: reply["calls"]?.items?.compactMap(CallRecord.init) ?? [], more: reply["more"]?.flag ?? false)
  }

  private func perform(_ type: String, _ fields: [String: JSON]) async throws -> CallRecord {
    guard let call = CallRecord(try await request(type, fields)) else {
      throw StillwireError(.malformed, "the reply to \(type) is not a call")
    }
    return call
  }
}
