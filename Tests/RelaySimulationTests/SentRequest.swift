// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol

/// A request, with the facts at the time when it was sent.
struct SentRequest {
  let request: ClientRequest
  /// The body of a message. Each message has its own.
  let body: Int
  /// The message of the request: `back` messages before the newest one that the client knows, or a call.
  let seq: Int64
  /// The position that a client reports when it joins.
  let after: Position?
  /// The newest change that a client reports when it joins.
  let afterChange: Int64?
  let now: Timestamp
  /// The newest report number of the request's device.
  let number: Int64
  /// The notification that the person opens or dismisses.
  let notification: String?

  func write(_ json: inout JSONWriter.Object) {
    json["room"] = request.room?.rawValue
    switch request {
    case .join(_, _, let history):
      json["type"] = "join"
      if let after {
        json.object("after") {
          $0["epoch"] = after.epoch
          $0.integer("seq", after.seq)
        }
      }
      json.integer("afterChange", afterChange)
      if history > 0 { json.integer("history", history) }
    case .leave(_, let stays):
      json["type"] = "leave"
      if stays { json.bool("stay", true) }
    case .send(_, let key, let options):
      json["type"] = "send"
      json["body"] = String(body)
      json["key"] = key.map { String($0) }
      write(options, &json)
    case .received:
      json["type"] = "received"
      json.integer("seq", seq)
    case .read:
      json["type"] = "read"
      json.integer("seq", seq)
    case .activity(let activity):
      json["type"] = "activity"
      json["state"] = activity.rawValue
    case .history(_, _, let limit):
      json["type"] = "history"
      json.integer("before", seq + 1)
      json.integer("limit", limit)
    case .edit:
      json["type"] = "edit"
      json.integer("seq", seq)
      json["body"] = String(body)
    case .delete:
      json["type"] = "delete"
      json.integer("seq", seq)
    case .react(_, _, let key), .unreact(_, _, let key):
      json["type"] = request.name
      json.integer("seq", seq)
      json["key"] = World.reactions[key]
    case .pin:
      json["type"] = request.name
      json.integer("seq", seq)
    case .notify(_, _, let users):
      json["type"] = "notify"
      json.integer("seq", seq)
      if let users { json.array("users") { list in users.forEach { list.string($0.rawValue) } } }
    case .create:
      json["type"] = "create"
      json["kind"] = "group"
    case .govern(_, let request):
      json["type"] = request.type
      json["user"] = request.user.rawValue
      switch request {
      case .add, .remove: break
      case .ban(_, let duration):
        json.bool("ban", true)
        json.integer("until", duration.map { (now + $0).rawValue })
      case .role(_, let role): json["role"] = role.name
      }
    case .call(_, let action, _):
      json["type"] = action.rawValue
      json.integer("seq", seq)
    case .register(let device, let registration):
      json["type"] = "device"
      json["device"] = device.rawValue
      json["platform"] = Platform.simulator.rawValue
      json["token"] = World.tokens[registration.token]
      if registration.rings { json["voipToken"] = "voip-\(registration.token)" }
      json["criteria"] = registration.criteria
      json.object("settings") {
        $0.bool("alerts", registration.allowsAlerts)
        $0.bool("timeSensitive", registration.allowsTimeSensitive)
      }
    case .forget(let device):
      json["type"] = "device"
      json["device"] = device.rawValue
      json.raw("token", "null".utf8)
    case .focus(let device, let isFocused, let authorization, let stamp):
      json["type"] = "focus"
      json["device"] = device.rawValue
      json.boolOrNull("isFocused", isFocused)
      if authorization != .authorized { json["authorization"] = authorization.rawValue }
      write(stamp, &json)
    case .filter(let device, let allow, let stamp):
      json["type"] = "filter"
      json["device"] = device.rawValue
      json.bool("active", allow != nil)
      if let allow { json.array("allow") { list in allow.forEach { list.string($0) } } }
      write(stamp, &json)
    case .prefer(let preference):
      json["type"] = "preferences"
      write(preference, &json)
    case .block(let user): write("block", user, &json)
    case .unblock(let user): write("unblock", user, &json)
    case .watch(let user): write("watch", user, &json)
    case .respond(_, _, let isDismissal):
      json["type"] = "respond"
      json["notification"] = notification
      json["action"] = (isDismissal ? ActionID.dismiss : .open).rawValue
    }
  }

  /// The device's time and number, as the request contains them.
  func time(of stamp: Stamp) -> Timestamp? { stamp.at.map { now + $0 } }
  func number(of stamp: Stamp) -> Int64? {
    switch stamp.number {
    case .next(let step)?: max(0, number + step)
    case .clock(let ahead)?: (now + ahead).rawValue
    case nil: nil
    }
  }

  /// The first message cannot be a reply.
  var replyTo: Int64? {
    guard case .send(_, _, let options) = request, let back = options.replyBack, seq > Int64(back) else { return nil }
    return seq - Int64(back)
  }

  private func write(_ options: PushOptions, _ json: inout JSONWriter.Object) {
    if !options.mentions.isEmpty {
      json.array("mentions") { list in options.mentions.forEach { list.string($0.rawValue) } }
    }
    json.integer("replyTo", replyTo)
    if options.reports { json.bool("report", true) }
    guard options.isRequested else { return json.bool("push", false) }
    json.object("push") {
      if options.isCall { $0["kind"] = "call" }
      $0["level"] = options.level.rawValue
      $0["criteria"] = options.criteria
      $0.decimal("expires", options.lifetime?.seconds)
    }
  }

  private func write(_ stamp: Stamp, _ json: inout JSONWriter.Object) {
    json.integer("at", time(of: stamp)?.rawValue)
    json.integer("number", number(of: stamp))
  }

  private func write(_ type: String, _ user: UserID, _ json: inout JSONWriter.Object) {
    json["type"] = type
    json.array("users") { $0.string(user.rawValue) }
  }

  private func write(_ preference: Preference, _ json: inout JSONWriter.Object) {
    switch preference {
    case .onFocus(let mode): json["onFocus"] = mode.rawValue
    case .level(let room, let level, let lasts):
      json.object("rooms") {
        $0.object(room.rawValue) {
          $0["level"] = level.rawValue
          $0.integer("until", lasts.map { (now + $0).rawValue })
        }
      }
    case .label(let room, let label):
      json.object("rooms") {
        $0.object(room.rawValue) { options in
          if let label { options["criteria"] = label } else { options.raw("criteria", "null".utf8) }
        }
      }
    case .quietHours(nil): json.raw("quietHours", "null".utf8)
    case .quietHours(let options?):
      let hours = options.hours(at: now)
      json.object("quietHours") {
        $0["from"] = hours.from.description
        $0["to"] = hours.to.description
        $0.array("days") { list in hours.days.sorted().forEach { list.raw(String($0).utf8) } }
        $0["timeZone"] = hours.timeZone
        $0["mode"] = hours.mode.rawValue
      }
    case .shareFocus(let audience): json["shareFocus"] = audience.rawValue
    case .shareOnline(let audience): json["shareOnline"] = audience.rawValue
    }
  }
}
