// SPDX-License-Identifier: Apache-2.0
import Crypto
import RelayJSON
import RelayProtocol

// How the control API writes and reads what is scripted.

extension AppleSimulator.Settings {
  var json: [UInt8] {
    JSONWriter.object { object in
      object["environment"] = environment.rawValue
      object.array("keys") { list in
        for key in keys.values.sorted(by: { $0.id < $1.id }) { list.raw(key.json) }
      }
      object.bool("acceptsAnyKey", acceptsAnyKey)
      object.bool("countsUpdatesAcrossConnections", countsUpdatesAcrossConnections)
      object.decimal("clockSkew", clockSkew.seconds)
      object.decimal("clockOffset", clockOffset.seconds)
      object.array("topics") { list in for topic in topics.sorted() { list.string(topic) } }
      object.integer("tokenDigits", tokenDigits.upperBound)
      object.integer("mostPerDevice", mostPerDevice)
      object.array("latency") { list in
        for bound in [latency.lowerBound, latency.upperBound] { list.raw(String(bound.seconds).utf8) }
      }
      object.integer("streams", streams)
      object.integer("window", window)
      object.decimal("readDelay", readDelay.seconds)
      object.integer("requestsPerConnection", requestsPerConnection)
    }
  }

  /// Members that are not there change nothing; null takes away what can be absent.
  mutating func change(_ fields: Fields) throws(RequestError) {
    let names: Set<String> = [
      "environment", "keys", "acceptsAnyKey", "countsUpdatesAcrossConnections", "clockSkew", "clockOffset", "topics",
      "tokenDigits", "mostPerDevice", "latency", "streams", "window", "readDelay", "requestsPerConnection",
    ]
    if let unknown = fields.members.keys.first(where: { !names.contains($0) }) {
      throw fields.wrong(unknown, "is unknown")
    }
    environment = try fields.choice("environment") ?? environment
    if let keys = try fields.objects("keys", most: Self.mostKeys) {
      self.keys = [:]
      for key in keys { add(try AppleSimulator.Key(key)) }
    }
    acceptsAnyKey = try fields.bool("acceptsAnyKey") ?? acceptsAnyKey
    countsUpdatesAcrossConnections =
      try fields.bool("countsUpdatesAcrossConnections") ?? countsUpdatesAcrossConnections
    clockSkew = try fields.seconds("clockSkew", 0...86_400) ?? clockSkew
    clockOffset = try fields.seconds("clockOffset", -1e9...1e9) ?? clockOffset
    if let topics = try fields.strings("topics", most: Self.mostTopics, longest: 155) { self.topics = Set(topics) }
    if let digits = try fields.integer("tokenDigits", 2...Int64(AppleSimulator.longestToken)) {
      tokenDigits = Int(digits)...Int(digits)
    }
    try fields.changeCount("mostPerDevice", &mostPerDevice)
    latency = try fields.latency("latency") ?? latency
    streams = Int(try fields.integer("streams", 0...Int64(Self.mostStreams)) ?? Int64(streams))
    window = Int(try fields.integer("window", 1...65_535) ?? Int64(window))
    readDelay = try fields.seconds("readDelay", 0...3600) ?? readDelay
    try fields.changeCount("requestsPerConnection", &requestsPerConnection)
  }
}

extension AppleSimulator.Key {
  fileprivate var json: [UInt8] {
    JSONWriter.object { object in
      object["id"] = id
      object["team"] = team
      object["publicKey"] = publicKey.pemRepresentation
      object["environment"] = environment?.rawValue
      if let topics { object.array("topics") { list in for topic in topics.sorted() { list.string(topic) } } }
      object["related"] = related
    }
  }

  fileprivate init(_ fields: Fields) throws(RequestError) {
    let id = try fields.required("id", fields.string("id", longest: 10))
    let team = try fields.required("team", fields.string("team", longest: 10))
    let pem = try fields.required("publicKey", fields.string("publicKey", longest: 4096))
    guard let publicKey = try? P256.Signing.PublicKey(pemRepresentation: pem) else {
      throw fields.wrong("publicKey", "must be a key of P-256 as PEM")
    }
    self.init(
      id: id, team: team, publicKey: publicKey, environment: try fields.choice("environment"),
      topics: try fields.strings("topics", most: AppleSimulator.Settings.mostTopics, longest: 155).map { Set($0) },
      related: try fields.string("related", longest: 10))
  }
}

extension AppleSimulator.Fault {
  var json: [UInt8] {
    JSONWriter.object { object in
      switch action {
      case .answer(let refusal):
        object["action"] = "answer"
        object.integer("status", refusal.status)
        object["reason"] = refusal.reason
        object.integer("timestamp", refusal.timestamp?.rawValue)
        object.integer("retryAfter", refusal.retryAfter)
      case .hang: object["action"] = "hang"
      case .resetStream(let code):
        object["action"] = "resetStream"
        object.integer("code", code)
      case .resetConnection: object["action"] = "resetConnection"
      case .goAway: object["action"] = "goAway"
      }
      if !tokens.isEmpty { object.array("tokens") { list in for token in tokens.sorted() { list.string(token) } } }
      object.decimal("share", share)
      object.integer("times", times)
    }
  }

  init(_ fields: Fields) throws(RequestError) {
    let tokens = try fields.strings("tokens", most: 1000, longest: AppleSimulator.longestToken) ?? []
    self.init(
      try Self.action(fields), tokens: Set(tokens.map { $0.lowercased() }),
      share: try fields.decimal("share", 0...1) ?? 1,
      times: try fields.integer("times", 1...largestInteger).map { Int($0) })
  }

  private static func action(_ fields: Fields) throws(RequestError) -> Action {
    switch try fields.required("action", fields.string("action", longest: 32)) {
    case "answer":
      let text = try fields.required("reason", fields.string("reason", longest: 100))
      let known = AppleSimulator.Reason(rawValue: text)
      let status = try fields.integer("status", 200...599) ?? known.map { Int64($0.status) }
      return .answer(
        AppleSimulator.Refusal(
          status: Int(try fields.required("status", status)), reason: text,
          timestamp: try fields.integer("timestamp", 0...largestInteger).map { Timestamp(rawValue: $0) },
          retryAfter: try fields.integer("retryAfter", 0...86_400).map { Int($0) }))
    case "hang": return .hang
    case "resetStream": return .resetStream(code: Int(try fields.integer("code", 0...0xFFFF_FFFF) ?? 2))
    case "resetConnection": return .resetConnection
    case "goAway": return .goAway
    default: throw fields.wrong("action", "must be answer, hang, resetStream, resetConnection or goAway")
    }
  }
}

extension AppleSimulator.Phone {
  var json: [UInt8] {
    JSONWriter.object { object in
      object.bool("isOn", isOn)
      if let topics { object.array("topics") { list in for topic in topics.sorted() { list.string(topic) } } }
      object["environment"] = environment?.rawValue
      object.integer("unregistered", unregistered?.rawValue)
      object.integer("expired", expired?.rawValue)
      object.array("stored") { list in
        for received in stored.values.sorted(by: { $0.bundle < $1.bundle }) { list.raw(received.json) }
      }
      object.array("shown") { list in for received in shown { list.raw(received.json) } }
    }
  }

  /// The script of a device as a whole: what is not there is as usual.
  mutating func script(_ fields: Fields) throws(RequestError) {
    isOn = try fields.bool("isOn") ?? true
    topics = try fields.strings("topics", most: AppleSimulator.Settings.mostTopics, longest: 155).map { Set($0) }
    environment = try fields.choice("environment")
    unregistered = try fields.integer("unregistered", 0...largestInteger).map { Timestamp(rawValue: $0) }
    expired = try fields.integer("expired", 0...largestInteger).map { Timestamp(rawValue: $0) }
  }
}

extension AppleSimulator.Received {
  fileprivate var json: [UInt8] {
    JSONWriter.object { object in
      object["id"] = id
      object["topic"] = bundle
      object["collapseID"] = collapseID
      object.integer("expiration", expiration)
      object.integer("time", time.rawValue)
      object.raw("payload", payload)
    }
  }
}

extension AppleSimulator.Arrival {
  var json: [UInt8] {
    JSONWriter.object { object in
      object.integer("number", number)
      object.integer("time", time.rawValue)
      object.integer("connection", connection)
      object.integer("stream", stream)
      object["method"] = method
      object["path"] = path
      object.array("headers") { list in
        for (name, value) in headers {
          list.array {
            $0.string(name)
            $0.string(value)
          }
        }
      }
      object["keyID"] = keyID
      object["id"] = id
      object["payload"] = String(decoding: payload, as: UTF8.self)
      object["outcome"] = outcome.name
      if case .refused(let refusal) = outcome {
        object.integer("status", refusal.status)
        object["reason"] = refusal.reason
      }
    }
  }
}

extension AppleSimulator.Counts {
  var json: [UInt8] {
    JSONWriter.object { object in
      object.integer("connections", connections)
      object.integer("openConnections", openConnections)
      object.integer("requests", requests)
      object.integer("verifications", verifications)
      object.object("outcomes") { list in for (name, count) in outcomes.sorted(by: <) { list.integer(name, count) } }
      object.object("refusals") { list in for (name, count) in refusals.sorted(by: <) { list.integer(name, count) } }
    }
  }
}

extension Fields {
  func objects(_ key: String, most: Int) throws(RequestError) -> [Fields]? {
    guard has(key) else { return nil }
    guard case .array(let items)? = members[key] else { throw wrong(key, "must be an array") }
    guard items.count <= most else { throw wrong(key, "must have at most \(most) items") }
    var objects: [Fields] = []
    for item in items { objects.append(try Fields(item, at: "\(place)/\(key)/\(objects.count)")) }
    return objects
  }

  fileprivate func seconds(_ key: String, _ allowed: ClosedRange<Double>) throws(RequestError) -> Duration? {
    try decimal(key, allowed).map { .seconds($0) }
  }

  /// A number of seconds, or the least and the most.
  fileprivate func latency(_ key: String) throws(RequestError) -> ClosedRange<Duration>? {
    guard case .array(let bounds)? = members[key] else { return try seconds(key, 0...3600).map { $0...$0 } }
    let numbers = bounds.compactMap { bound -> Double? in
      guard case .number(let spelling) = bound else { return nil }
      return Double(spelling)
    }
    guard numbers.count == 2, bounds.count == 2, numbers[0] >= 0, numbers[0] <= numbers[1], numbers[1] <= 3600 else {
      throw wrong(key, "must be a number of seconds up to 3600, or the least and the most")
    }
    return .seconds(numbers[0])...Duration.seconds(numbers[1])
  }

  /// A count that null takes away.
  fileprivate func changeCount(_ key: String, _ count: inout Int?) throws(RequestError) {
    if isNull(key) { count = nil }
    count = try integer(key, 1...largestInteger).map { Int($0) } ?? count
  }
}
