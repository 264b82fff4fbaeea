// SPDX-License-Identifier: Apache-2.0
import Crypto
import Foundation
import RelayJSON
import RelayProtocol
import RelayPush
import Testing

@testable import RelayServer
@testable import StillwireClient
@testable import StillwireExtension

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The Swift client with a real relay, over a socket.
@Suite(.timeLimit(.minutes(15))) struct LiveTests {
  @Test func `two people talk, and each sees every message once`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        try await withClient(of: "bob", at: address) { bob in
          let (annsTea, bobsTea) = (ann.room("tea"), bob.room("tea"))
          let (annsMessages, bobsMessages) = (annsTea.messages(), bobsTea.messages())
          try await annsTea.join()
          try await bobsTea.join()
          for number in 1...20 {
            try await (number % 2 == 0 ? annsTea : bobsTea).send(["text": "tea", "number": .number(String(number))])
          }
          let seen = await annsMessages.first(20)
          #expect(seen.map(\.seq) == Array(1...20))
          #expect(seen.map { $0.body["number"] } == (1...20).map { .number(String($0)) })
          #expect(seen.map(\.isOwn) == (1...20).map { $0 % 2 == 0 })
          #expect(await bobsMessages.first(20).map(\.seq) == Array(1...20))
        }
      }
    }
  }

  @Test func `the client sends waiting messages after a restart of the relay, and shows missed ones`() async throws {
    let relay = LiveRelay()
    let port = try await relay.serve { UInt16($0.port) }
    let address = try #require(RelayAddress("http://127.0.0.1:\(port)"))
    try await withClient(of: "ann", at: address) { ann in
      let tea = ann.room("tea")
      let messages = tea.messages()
      let events = ann.events()
      try await relay.serve(port: port) { _ in
        await ann.connect()
        try await tea.join()
        try await tea.send(text: "one")
      }
      // The relay is stopped.
      _ = await events.first { if case .stateChanged(.waiting) = $0 { true } else { false } }
      let two = Task { try await tea.send(text: "two") }
      let three = Task { try await tea.send(text: "three") }
      try await relay.serve(port: port) { _ in
        // Another user may send a message before Ann's.
        try await withClient(of: "bob", at: address) { bob in
          try await bob.room("tea").join()
          try await bob.room("tea").send(text: "in between")
        }
        await ann.connect()
        let sent = try await [two.value.seq, three.value.seq]
        #expect(sent.allSatisfy { (2...4).contains($0) })
        let seen = await messages.first(4)
        #expect(seen.map(\.seq) == [1, 2, 3, 4])
        #expect(Set(seen.map(\.text)) == ["one", "two", "three", "in between"])
        #expect(seen.allSatisfy { !$0.isAfterGap })
      }
    }
  }

  @Test func `the client shows people and the Focus that the extension reported`() async throws {
    try await LiveRelay().serve { address in
      let file = FileManager.default.temporaryDirectory.appending(path: "number-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: file) }
      try await withClient(of: "ann", at: address) { ann in
        try await withClient(of: "bob", at: address) { bob in
          try await ann.room("tea").join()
          try await bob.room("tea").join()
          let reporter = FocusReporter(address, device: "phone", numberFile: file, patience: patience) { .open("bob") }
          let outcome = try await reporter.report(isFocused: true)
          #expect(outcome.isFocused == true)
          let people = await ann.room("tea").people().first { $0["bob"]?.isSilenced == true }
          #expect(people?.memberCount == 2)
          let sent = try await ann.room("tea").send(text: "hush")
          #expect(sent.delivery?.silenced == ["bob"])
          // The numbers of reports over the socket also follow the clock, so they continue after the extension's.
          let other = try await bob.report(FocusReport(device: "phone", isFocused: true, source: .center))
          #expect(other.isFocused == true)
        }
      }
    }
  }

  @Test func `an extension reports with its report key, also if the number file is locked`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "bob", at: address) { bob in
        try await bob.room("tea").join()
        let reply = try await bob.request(
          "device", ["device": "phone", "platform": "simulator", "token": "bobs-phone"])
        let key = try #require(reply["reportKey"]?.text)
        let reporter = FocusReporter(
          address, device: "phone", numberFile: URL(filePath: "/nowhere/number"), patience: patience
        ) { .reportKey(key) }
        let outcome = try await reporter.report(isFocused: true)
        #expect(outcome.isFocused == true)
      }
    }
  }

  @Test func `a typed registration gives the report key of the device`() async throws {
    // The relay accepts the registration only with a key of Apple's service. The test sends no push.
    let key = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString).p8")
    defer { try? FileManager.default.removeItem(at: key) }
    try P256.Signing.PrivateKey().pemRepresentation.write(to: key, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
    let file = JSON.string(key.path)
    try await LiveRelay().serve(change: {
      let credential: JSON = ["keyFile": file, "keyID": "ABCDE12345", "team": "ABCDE12345"]
      $0.apps = try Apps([Fields(["app": "org.example.chat", "credential": credential])])
    }) { address in
      try await withClient(of: "bob", at: address) { bob in
        try await bob.room("tea").join()
        let registration = PushRegistration(
          user: "bob", device: "phone", app: "org.example.chat", token: Data([1, 2, 255]),
          permissions: .init(allowsAlerts: false))
        let registered = try await bob.register(registration)
        #expect(registered.reportKey.hasPrefix("swr_") && registered.warnings == [])
        var withCalls = registration
        withCalls.voipToken = Data([3, 4])
        let api = RelayAPI(address, patience: patience) { .open("bob") }
        for registered in [try await bob.register(withCalls), try await api.register(withCalls)] {
          #expect(registered.warnings.map(\.code) == ["no_voip_entitlement"])
        }
        var request = URLRequest(relay: address, "GET", "/v1/users/bob/devices/phone", nil)
        request.setValue("bob", forHTTPHeaderField: "X-Stillwire-User")
        let device = try await HTTPExchange.answer(to: request, patience: patience).json()
        #expect(device["app"]?.text == "org.example.chat")
        #expect(device["settings"]?["alerts"] == false)
        // For a sign-out.
        for _ in 0..<2 { try await api.forget("phone") }
        #expect(try await HTTPExchange.answer(to: request, patience: patience).status == 404)
      }
    }
  }

  @Test func `an extension reports a filter, a receipt and a response with its report key alone`() async throws {
    try await LiveRelay().serve { address in
      let bob = RelayAPI(address, patience: patience) { .open("bob") }
      let registered = try await bob.send(
        "PUT", "/v1/users/bob/devices/phone", Array(#"{"platform":"simulator","token":"bobs-phone"}"#.utf8))
      let key = try #require(registered["reportKey"]?.text)
      let api = RelayAPI(address, patience: patience) { .reportKey(key) }
      let filter = FilterReporter(
        address, device: "phone", numberFile: URL(filePath: "/nowhere/number"), patience: patience
      ) { .reportKey(key) }
      try await filter.report(allowing: ["work"])
      try await withClient(of: "ann", at: address) { ann in
        let events = ann.events()
        let tea = ann.room("tea")
        try await tea.join()
        try await bob.send("PUT", "/v1/rooms/tea/members/bob", Array("{}".utf8))
        try await tea.send(["text": "Kettle is on"], report: true)
        var payload: CommunicationPayload?
        while payload == nil {
          let request = URLRequest(relay: address, "GET", "/v1/simulator/devices/bobs-phone", nil)
          let answer = try await HTTPExchange.answer(to: request, patience: patience).json()
          payload = answer["notifications"]?.items?.first?["payload"].flatMap { CommunicationPayload($0) }
        }
        var forged = try #require(payload)
        forged.receipt = "AAAA"
        let notification = try #require(forged.notification)
        // The relay refuses the token, so that the report follows with the key.
        try await api.received(notification, receipt: ArrivalReceipt(forged))
        try await api.received(notification, receipt: nil)
        let other = RelayAPI(address, patience: patience) { .reportKey("swr_" + String(repeating: "A", count: 43)) }
        let error = await #expect(throws: StillwireError.self) {
          try await other.received(notification, receipt: ArrivalReceipt(forged))
        }
        #expect(error?.code == .refused(.unauthorized))
        try await api.respond(to: notification, with: .open)
        let kinds = await events.compactMap { event -> String? in
          guard case .frame(let frame) = event, frame.user == "bob" else { return nil }
          return frame.type == "delivery" ? frame["state"]?.text : frame.type == "response" ? "response" : nil
        }.prefix { $0 != "response" }.reduce(into: Set<String>()) { $0.insert($1) }
        #expect(kinds.contains("onPhone"))
      }
    }
  }

  @Test func `cancellation removes a waiting message`() async throws {
    // No server listens there.
    let client = Stillwire(.init(try #require(RelayAddress("http://127.0.0.1:1"))) { _ in .open("ann") })
    let tea = client.room("tea")
    let joining = Task { try await tea.join() }
    while await client.engine.order.isEmpty { await Task.yield() }
    let sending = Task { try await tea.send(text: "never mind") }
    while await client.engine.waitingDrafts == 0 { await Task.yield() }
    sending.cancel()
    await #expect(throws: CancellationError.self) { try await sending.value }
    #expect(await client.engine.waitingDrafts == 0)
    joining.cancel()
    await #expect(throws: CancellationError.self) { try await joining.value }
  }

  @Test func `the end of run() closes the socket with a close frame`() async throws {
    // Much longer than a close handshake takes on a slow machine.
    let grace = Duration.seconds(60)
    try await LiveRelay().serve(grace: grace) { address in
      try await withClient(of: "ann", at: address) { ann in
        try await ann.room("tea").join()
        try await withClient(of: "bob", at: address) { bob in
          try await bob.room("tea").join()
          _ = await ann.room("tea").people().first { $0["bob"]?.isOnline == true }
        }
        // Without a close frame Bob would be shown as online during the grace.
        let start = ContinuousClock.now
        _ = await ann.room("tea").people().first { $0["bob"]?.isOnline == false }
        #expect(ContinuousClock.now - start < grace)
      }
    }
  }

  @Test func `a refused request throws the relay's error`() async throws {
    try await LiveRelay().serve { address in
      try await withClient(of: "ann", at: address) { ann in
        let tea = ann.room("tea")
        try await tea.join()
        let error = await #expect(throws: StillwireError.self) { try await tea.edit(99, body: "x") }
        #expect(error?.code == .refused(.notFound))
        let large = await #expect(throws: StillwireError.self) {
          try await tea.send(text: String(repeating: "x", count: 70_000))
        }
        #expect(large?.code == .refused(.tooLarge))
        try await tea.send(text: "still here")
      }
    }
  }

  @Test func `the client downloads the category registry only after a change`() async throws {
    try await LiveRelay().serve { address in
      let api = RelayAPI(address, patience: patience) { .open("ann") }
      let first = try #require(try await api.categories())
      #expect(first.registry == CategoryRegistry())
      #expect(try await api.categories(unless: first.tag) == nil)
      _ = try await api.send(
        "PUT", "/v1/categories",
        Array(#"{"categories":[{"id":"a","actions":[{"id":"yes","title":"Yes"}]}]}"#.utf8))
      let second = try #require(try await api.categories(unless: first.tag))
      #expect(second.registry.declarations(for: ["en"]).first?.actions.first?.title == "Yes")
    }
  }

  @Test func `code without a socket reads a push, reports its arrival and responds to it`() async throws {
    try await LiveRelay().serve { address in
      let bob = RelayAPI(address, patience: patience) { .open("bob") }
      try await bob.send(
        "PUT", "/v1/users/bob/devices/phone", Array(#"{"platform":"simulator","token":"bobs-phone"}"#.utf8))
      try await withClient(of: "ann", at: address) { ann in
        let events = ann.events()
        let tea = ann.room("tea")
        try await tea.join()
        try await bob.send("PUT", "/v1/rooms/tea/members/bob", Array("{}".utf8))
        let sent = try await tea.send(["text": "Kettle is on"], report: true)

        var shown: JSON?
        while shown == nil {
          let request = URLRequest(relay: address, "GET", "/v1/simulator/devices/bobs-phone", nil)
          shown = try await HTTPExchange.answer(to: request, patience: patience).json()["notifications"]?.items?.first?[
            "payload"]
        }
        let payload = try #require(shown.flatMap { CommunicationPayload($0) })
        #expect(payload.sender.id == "ann")
        #expect(payload.conversation == PayloadConversation(id: "tea"))
        #expect(payload.message == MessageReference(room: "tea", seq: sent.seq))
        #expect(payload.text == "Kettle is on")

        try await #require(ArrivalReceipt(payload)).report(to: address, patience: patience)
        try await bob.respond(to: try #require(payload.notification), with: .open)
        let response = await events.first { if case .frame(let frame) = $0 { frame.type == "response" } else { false } }
        guard case .frame(let frame) = response else { return }
        #expect(frame.user == "bob")
        #expect(frame["notification"]?.text == payload.notification)
        // The relay refuses a token that does not belong to the push.
        var forged = payload
        forged.receipt = "AAAA"
        let receipt = try #require(ArrivalReceipt(forged))
        await #expect(throws: StillwireError.self) { try await receipt.report(to: address, patience: patience) }
      }
    }
  }

  @Test func `a refused HTTP request throws the relay's error`() async throws {
    try await LiveRelay().serve { address in
      let api = RelayAPI(address, patience: patience) { .open("ann") }
      let error = await #expect(throws: StillwireError.self) {
        try await api.respond(to: UUID().uuidString.lowercased(), with: .open)
      }
      #expect(error?.code == .refused(.notFound))
      await #expect(throws: StillwireError.self) { try await api.respond(to: "../categories", with: .open) }
    }
    let nobody = RelayAPI(try #require(RelayAddress("http://127.0.0.1:1"))) { .open("ann") }
    let error = await #expect(throws: StillwireError.self) { try await nobody.categories() }
    #expect(error?.code == .unreachable)
  }
}

extension Engine {
  /// The rooms of the client, joined or not.
  var order: [RoomID] { machine.order }
  /// The number of messages that wait to be sent.
  var waitingDrafts: Int { machine.outbox.lanes.values.reduce(0) { $0 + $1.drafts.count } }
}
