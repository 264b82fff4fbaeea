// SPDX-License-Identifier: Apache-2.0
// Writes the client's events in the format of Tests/Conformance.
import RelayJSON
import StillwireClient

extension Event {
  func emit(to output: Output) {
    switch self {
    case .stateChanged(let state): output.emit("state", state.members)
    case .joined(let room, let position, let isRecovered):
      var members = position.members(of: room)
      members["recovered"] = isRecovered.map(JSON.bool)
      output.emit("joined", members)
    case .reset(let room, let position, let reason):
      var members = position.members(of: room)
      members["reason"] = .string(reason.rawValue)
      output.emit("reset", members)
    case .left(let room, let code): output.emit("left", ["room": .string(room.rawValue), "code": .string(code)])
    case .message(let message): output.emit("message", message.members)
    case .peopleChanged(let room, let people):
      output.emit(
        "presence",
        [
          "room": .string(room.rawValue), "members": people.members,
          "memberCount": .number(String(people.memberCount)), "onlineCount": .number(String(people.onlineCount)),
        ])
    case .invitation(.added(let invitation)):
      output.emit("invitation", invitation.members.merging(["event": "added"]) { $1 })
    case .invitation(.ended(let room, let cause)):
      var members: [String: JSON] = ["event": "ended", "room": .string(room.rawValue)]
      members["cause"] = cause.map { .string($0.rawValue) }
      output.emit("invitation", members)
    case .frame(let frame):
      guard case .object(let members) = frame.members else { return }
      output.emit(frame.type == "presence" ? "person" : frame.type, members)
    case .missed: break
    }
  }
}

extension ConnectionState {
  fileprivate var members: [String: JSON] {
    switch self {
    case .closed: ["state": "closed"]
    case .connecting: ["state": "connecting"]
    case .open: ["state": "open"]
    case .waiting(let delay): ["state": "waiting", "delay": .number(String(delay.seconds))]
    case .refused(let refusal):
      ["state": "refused", "code": .number(String(refusal.code)), "reason": .string(refusal.reason)]
    }
  }
}

extension Position {
  fileprivate func members(of room: RoomID) -> [String: JSON] {
    ["room": .string(room.rawValue), "epoch": .string(epoch), "seq": .number(String(seq))]
  }
}

extension Message {
  fileprivate var members: [String: JSON] {
    var members: [String: JSON] = ["room": .string(room.rawValue), "seq": .number(String(seq))]
    if isAfterGap { members["isAfterGap"] = true }
    guard !isDeleted else {
      members["deleted"] = true
      members["by"] = moderator.map { .string($0.rawValue) }
      return members
    }
    members["from"] = from.map { .string($0.rawValue) }
    members["time"] = time.map { .number(String($0.rawValue)) }
    members["body"] = body
    if isOwn { members["isOwn"] = true }
    if !mentions.isEmpty { members["mentions"] = .array(mentions.words.map(JSON.string)) }
    members["editedAt"] = edited.map { .number(String($0.rawValue)) }
    members["replyTo"] = replyTo.map { .number(String($0)) }
    members["quote"] = quote?.json
    members["pinnedAt"] = pinned.map { .number(String($0.rawValue)) }
    if !reactions.isEmpty { members["reactions"] = .array(reactions.map(\.json)) }
    return members
  }
}

extension Invitation {
  var members: [String: JSON] {
    var by: [String: JSON] = ["user": .string(inviter.rawValue)]
    by["name"] = inviterName.map(JSON.string)
    by["avatar"] = inviterAvatar.map(JSON.string)
    var members: [String: JSON] = [
      "room": .string(room.rawValue), "kind": .string(kind.rawValue), "members": .number(String(memberCount)),
      "by": .object(by), "time": .number(String(time.rawValue)),
    ]
    members["title"] = title.map(JSON.string)
    members["avatar"] = avatar.map(JSON.string)
    return members
  }
}

extension Membership {
  var members: [String: JSON] {
    position.members(of: room).merging([
      "user": .string(user.rawValue), "read": .number(String(read)), "memberCount": .number(String(memberCount)),
    ]) { $1 }
  }
}

extension Quote {
  fileprivate var json: JSON {
    var members: [String: JSON] = ["seq": .number(String(seq)), "from": .string(from.rawValue)]
    members["preview"] = preview.map(JSON.string)
    if isDeleted { members["deleted"] = true }
    return .object(members)
  }
}

extension Reaction {
  fileprivate var json: JSON {
    ["key": .string(key), "count": .number(String(count)), "users": .array(users.map { .string($0.rawValue) })]
  }
}

extension People {
  fileprivate var members: JSON {
    guard isListed else { return nil }
    return .object(Dictionary(uniqueKeysWithValues: entries.map { ($0.key.rawValue, $0.value.json) }))
  }
}

extension Presence {
  fileprivate var json: JSON {
    var members: [String: JSON] = [
      "user": .string(user.rawValue), "online": .bool(isOnline), "isFocused": isFocused.map(JSON.bool) ?? nil,
    ]
    members["name"] = name.map(JSON.string)
    members["avatar"] = avatar.map(JSON.string)
    members["activity"] = activity.map { .string($0.rawValue) }
    members["focusSince"] = focusSince.map { .number(String($0.rawValue)) }
    members["lastSeen"] = lastSeen.map { .number(String($0.rawValue)) }
    members["restrictedUntil"] = restrictedUntil.map { .number(String($0.rawValue)) }
    return .object(members)
  }
}
