// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayJSON
import StillwireClient
import Synchronization

/// The client of a conformance case. It executes the commands of the script.
final class App: Sendable {
  private let client: Stillwire
  private let addresses: [RelayAddress]
  private let output: Output
  /// The time that the script controls. Is `nil` if the case uses real time.
  private let time: ManualTime?
  private let iterations = Mutex<[[UInt8]: Iteration]>([:])
  /// The results of the token function that the command `token` gives, with `tokens` of `ask`.
  private let given: AsyncStream<JSON>.Continuation

  init(_ addresses: [RelayAddress], _ options: JSON, _ output: Output) {
    self.addresses = addresses
    self.output = output
    let tokens = options["tokens"]?.list.map(Turns.init)
    let isAsking = options["tokens"]?.text == "ask"
    let asked = AsyncStream<JSON>.makeStream()
    given = asked.continuation
    var configuration = Stillwire.Configuration(addresses) { [stream = asked.stream] isExpired in
      output.emit("token", ["isExpired": .bool(isExpired)])
      let token = if isAsking { await stream.first { _ in true } } else { tokens?.last() }
      guard let token = token?.text else { throw CancellationError() }
      return .token(token)
    }
    if let seconds = options["timeout"]?.double { configuration.timeout = .rounded(seconds: seconds) }
    if let max = options["outbox"]?.double { configuration.outbox = Int(max) }
    let random = Turns(options["random"]?.list ?? [0])
    configuration.random = { random.next()?.double ?? 0 }
    let time = options["clock"]?.text == "real" ? nil : ManualTime()
    self.time = time
    client = Stillwire(
      configuration, hello: options["hello"]?.object ?? [:], hasIdentity: isAsking || tokens != nil,
      time: time ?? ClockTimekeeper(ContinuousClock()), wall: { time?.wall ?? .wall }
    ) { $0.emit(to: output) }
  }

  func feed(_ command: JSON) async {
    let engine = client.engine
    let room = command["room"]?.text.flatMap(RoomID.init(rawValue:)) ?? "none"
    switch command["do"]?.text {
    case "connect": await engine.take { $0.connectRequested() }
    case "close": await engine.take { $0.closeRequested() }
    case "join":
      let history = Int(command["history"]?.double ?? 0)
      await engine.request({ $0.joinRequested(room, history: history, $1) }) { _ in }
    case "leave":
      let stays = command["stay"] == .bool(true)
      let done = command["tag"].map { _ in answer(command, "replied") }
      await engine.request({ $0.leaveRequested(room, stays: stays, $1) }) { done?($0) }
    case "send":
      var fields = command.object ?? [:]
      for name in ["do", "tag", "room", "key"] { fields[name] = nil }
      let complete = fields
      await engine.request(
        { $0.sendRequested(room, complete, key: command["key"]?.text, $1) }, done: answer(command, "sent"))
    case "request":
      let type = command["type"]?.text ?? ""
      let fields = command["fields"]?.object ?? [:]
      await engine.request({ $0.requested(type, fields, $1) }, done: answer(command, "replied"))
    case "status":
      let status = command["status"].flatMap(UserStatus.init)
      await engine.request(
        { $0.requested("status", UserStatus.fields(setting: status), $1) }, done: answer(command, "replied"))
    case "invitations":
      let limit = Int(command["limit"]?.double ?? 50)
      perform(command) { client in
        let page = try await client.invitations(limit: limit, after: command["after"]?.text)
        var reply: [String: JSON] = ["invitations": .array(page.invitations.map { .object($0.members) })]
        reply["next"] = page.next.map(JSON.string)
        return .object(reply)
      }
    case "acceptInvitation": perform(command) { .object(try await $0.acceptInvitation(room).members) }
    case "declineInvitation":
      perform(command) {
        try await $0.declineInvitation(room)
        return [:]
      }
    case "invitationCount": perform(command) { ["count": .number(String(await $0.invitationCount))] }
    case "token": given.yield(command["token"] ?? .null)
    case "priority":
      let priority = Int(command["priority"]?.double ?? 0)
      await engine.take { $0.prioritize(room, priority) }
    case "read":
      let seq = Int64(command["seq"]?.double ?? 0)
      await engine.take { $0.markRead(room, seq) }
    case "activity":
      guard let activity = command["state"]?.text.flatMap(Activity.init(rawValue:)) else { fatalError("\(command)") }
      await engine.take { $0.activityChanged(activity) }
    case "focus":
      let report = FocusReport(isFocused: command["isFocused"] == .null ? nil : command["isFocused"] == .bool(true))
      await engine.request({ $0.focusReported(report, $1) }, done: answer(command, "replied"))
    case "report": report(command)
    case "iterate":
      let messages = client.room(room).messages(limit: Int(command["limit"]?.double ?? 1))
      iterations.withLock { $0[command.tag.bytes] = Iteration(messages) }
    case "take": take(command)
    case "advance":
      let by = Duration.rounded(seconds: command["by"]?.double ?? 0)
      await time?.advance(by: by, client)
      output.emit("advanced")
    case "step": time?.step(by: .rounded(seconds: command["by"]?.double ?? 0))
    case "sync":
      await engine.take { _ in }
      output.emit("synced")
    case "memory": output.emit("memory", ["bytes": .number(String(bytesInUse()))])
    default: fatalError("no such command: \(command)")
    }
  }

  /// Calls a method of the client, and writes its result.
  private func perform(_ command: JSON, _ method: @escaping @Sendable (Stillwire) async throws -> JSON) {
    let done = answer(command, "replied")
    Task { [client] in
      do { done(.success(try await method(client))) } catch { done(.failure(error)) }
    }
  }

  /// Sends a report as an extension of the app does: with the device's report key, and without the client's session.
  private func report(_ command: JSON) {
    guard let kind = command["report"]?.text, let key = command["key"]?.text,
      let device = DeviceID(rawValue: command["device"]?.text ?? "default")
    else { fatalError("\(command)") }
    let done = answer(command, "replied")
    Task { [addresses] in
      do {
        done(.success(try await Self.reply(to: kind, of: device, command, addresses) { .reportKey(key) }))
      } catch {
        done(.failure(error))
      }
    }
  }

  private static func reply(
    to kind: String, of device: DeviceID, _ command: JSON, _ addresses: [RelayAddress],
    as identity: @escaping @Sendable () async throws -> Identity
  ) async throws -> JSON {
    let api = RelayAPI(addresses, as: identity)
    let notification = command["notification"]?.text ?? ""
    let folder = command["numbers"]?.text.map { URL(fileURLWithPath: $0, isDirectory: true) }
    let name = folder == nil ? "driver-\(UUID().uuidString)" : "\(device.rawValue)-\(kind)"
    let numberFile = (folder ?? FileManager.default.temporaryDirectory).appendingPathComponent(name)
    defer { if folder == nil { try? FileManager.default.removeItem(at: numberFile) } }
    switch kind {
    case "focus":
      let isFocused: Bool? = command["isFocused"] == .null ? nil : command["isFocused"] == .bool(true)
      let reporter = FocusReporter(addresses, device: device, numberFile: numberFile, as: identity)
      try await reporter.report(isFocused: isFocused)
      return ["applied": true]
    case "filter":
      let reporter = FilterReporter(addresses, device: device, numberFile: numberFile, as: identity)
      let labels = command["allow"]?.list?.compactMap(\.text)
      try await reporter.report(allowing: labels)
      return ["applied": true]
    case "respond":
      guard let action = command["action"]?.text.flatMap(ActionID.init(rawValue:)) else { fatalError("\(command)") }
      try await api.respond(to: notification, with: action, text: command["text"]?.text)
      return [:]
    case "received":
      try await api.received(notification)
      return [:]
    default: fatalError("no such report: \(command)")
    }
  }

  private func take(_ command: JSON) {
    let output = output
    let tag = command.tag
    let count = Int(command["count"]?.double ?? 0)
    iterations.withLock { iterations in
      guard let iteration = iterations[tag.bytes] else { fatalError("no iteration \(tag)") }
      let before = iteration.taking
      iterations[tag.bytes]?.taking = Task {
        await before?.value
        var iterator = iteration.messages.makeAsyncIterator()
        for _ in 0..<count {
          guard let message = await iterator.next() else { return }
          var members: [String: JSON] = ["tag": tag, "seq": .number(String(message.seq))]
          if message.isAfterGap { members["isAfterGap"] = true }
          output.emit("taken", members)
        }
      }
    }
  }

  private func answer(_ command: JSON, _ kind: String) -> @Sendable (Result<JSON, any Error>) -> Void {
    { [output] result in
      var members: [String: JSON] = ["tag": command.tag]
      switch result {
      case .success(let reply):
        members["reply"] = reply
        output.emit(kind, members)
      case .failure(let error as StillwireError):
        members["code"] = .string(error.code.name)
        members["retryAfter"] = error.retryAfter.map { .number(String($0.seconds)) }
        members["until"] = error.until.map { .number(String($0.rawValue)) }
        output.emit("failed", members)
      case .failure(let error): fatalError("\(error)")
      }
    }
  }
}

/// A sequence of messages that the script reads, and the newest task that reads it.
private struct Iteration {
  let messages: Subscription<Message>
  var taking: Task<Void, Never>?

  init(_ messages: Subscription<Message>) { self.messages = messages }
}

/// A list of values that is read in order.
private final class Turns: Sendable {
  private let values: [JSON]
  private let given = Mutex(0)

  init(_ values: [JSON]) { self.values = values }

  /// Returns the next value. After the end it repeats the last one.
  func last() -> JSON? {
    let index = given.withLock {
      $0 += 1
      return $0 - 1
    }
    return values.isEmpty ? nil : values[min(index, values.count - 1)]
  }

  /// Returns the next value. After the end it starts again with the first one.
  func next() -> JSON? {
    let index = given.withLock {
      $0 += 1
      return $0 - 1
    }
    return values.isEmpty ? nil : values[index % values.count]
  }
}

extension JSON {
  /// The name by which the script refers to the command's result.
  fileprivate var tag: JSON { self["tag"] ?? .null }

  fileprivate var double: Double? {
    guard case .number(let text) = self else { return nil }
    return Double(text)
  }

  fileprivate var list: [JSON]? {
    guard case .array(let items) = self else { return nil }
    return items
  }

  fileprivate var object: [String: JSON]? {
    guard case .object(let members) = self else { return nil }
    return members
  }
}
