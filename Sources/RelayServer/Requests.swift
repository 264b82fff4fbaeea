// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// The fields of requests, read with their types and bounds.

extension Fields {
  var room: RoomID {
    get throws(RequestError) { try required("room", name("room")) }
  }

  /// `after` of `join`.
  var position: Position? {
    get throws(RequestError) {
      guard let after = try object("after") else { return nil }
      return Position(
        epoch: try after.required("epoch", after.string("epoch", longest: Position.longestEpoch)),
        seq: try after.required("seq", after.integer("seq", 0...largestInteger)))
    }
  }

  /// Who says `hello` in open mode.
  var openUser: User {
    get throws(RequestError) {
      User(
        id: try required("user", name("user")), name: try string("name", longest: User.longestName),
        avatar: try string("avatar", longest: User.longestAvatar))
    }
  }
}

/// What `hello` tells besides who it is.
struct HelloDetails {
  let device: DeviceID?
  let acks: Bool
  let activity: Activity

  init(_ fields: Fields) throws(RequestError) {
    device = try fields.name("device")
    acks = try fields.bool("acks") ?? false
    activity = try fields.choice("activity") ?? .active
    _ = try fields.string("app", longest: 255)
    let client = try fields.object("client")
    _ = try client?.string("name", longest: 255)
    _ = try client?.string("version", longest: 255)
  }
}

/// Which part of a room's history is asked for.
struct HistoryQuery {
  let before: Int64?
  let after: Int64?
  let limit: Int

  init(_ fields: Fields, most: Int) throws(RequestError) {
    before = try fields.integer("before", 0...largestInteger)
    after = try fields.integer("after", 0...largestInteger)
    limit = Int(try fields.integer("limit", 1...Int64(most)) ?? Int64(min(50, most)))
    guard before == nil || after == nil else { throw fields.wrong("before", "and after exclude each other") }
  }
}

extension FocusReport {
  /// - Parameter device: Whose report it is, unless it says so itself.
  init(_ fields: Fields, device: DeviceID?) throws(RequestError) {
    guard fields.has("isFocused") else { throw fields.wrong("isFocused", "is missing") }
    self.init(
      device: try fields.name("device") ?? device ?? .default, isFocused: try fields.bool("isFocused"),
      authorization: try fields.choice("authorization") ?? .authorized,
      at: try fields.integer("at", 0...largestInteger).map(Timestamp.init(rawValue:)),
      number: try fields.integer("number", 0...largestInteger), source: try fields.choice("source"))
  }
}

/// What is asked for a device: to be pushed to, or to be forgotten.
enum DeviceRequest {
  case register(Device)
  case forget(DeviceID)

  /// - Parameter device: From the path; otherwise it is a field.
  init(_ fields: Fields, device: DeviceID? = nil) throws(RequestError) {
    let id: DeviceID
    if let device { id = device } else { id = try fields.required("device", fields.name("device")) }
    let app = try fields.string("app", longest: 255)
    let told: Platform? = try fields.choice("platform")
    if let told, told != .simulator {
      throw RequestError(.unsupported, "no gateway for \(told.rawValue) is configured", at: "/platform", status: 422)
    }
    if fields.isNull("token") {
      self = .forget(id)
      return
    }
    let platform = try fields.required("platform", told)
    // The simulated gateway's tokens are parts of paths, so they are spelled like names.
    let token: DeviceID = try fields.required("token", fields.name("token"))
    self = .register(Device(id: id, app: app, platform: platform, token: token.rawValue))
  }
}
