// SPDX-License-Identifier: Apache-2.0
// Tests the one delivery of a notification: the decisions, and their execution with a fake content handler and clock.
import Foundation
import Testing

@testable import StillwireExtension

@Suite struct NotificationDeliveryTests {
  /// Pushes, the events that follow, and the expected delivery with the number of the event that causes it.
  static let table:
    [(name: String, push: (Bool, Bool), [NotificationDelivery.Event], NotificationDelivery.Content, at: Int)] = [
      ("a plain notification is delivered at once", (false, false), [], .original, 0),
      ("a plain notification never has a picture", (false, true), [.pictureLoaded], .original, 0),
      ("without a picture only the donation delays", (true, false), [.donationEnded], .communication, 1),
      (
        "the picture comes before the donation", (true, true), [.pictureLoaded, .donationEnded],
        .communicationWithPicture, 2
      ),
      (
        "the donation ends before the picture", (true, true), [.donationEnded, .pictureLoaded],
        .communicationWithPicture, 2
      ),
      ("a failed picture does not delay", (true, true), [.donationEnded, .pictureFailed], .communication, 2),
      ("no picture in time", (true, true), [.donationEnded, .timedOut, .pictureLoaded], .communication, 2),
      ("no donation in time", (true, true), [.pictureLoaded, .timedOut, .donationEnded], .communicationWithPicture, 2),
      ("the system ends the time", (true, true), [.expired, .pictureLoaded, .donationEnded], .communication, 1),
      ("the system ends the time twice", (true, true), [.expired, .expired], .communication, 1),
      ("a loaded picture is kept at the end", (true, true), [.pictureLoaded, .expired], .communicationWithPicture, 2),
      (
        "a picture after its failure is ignored", (true, true), [.pictureFailed, .pictureLoaded, .expired],
        .communication, 3
      ),
    ]

  @Test(arguments: table.indices) func `a notification is delivered once, with the best content`(_ index: Int) {
    let (name, push, events, content, step) = Self.table[index]
    var delivery = NotificationDelivery(isCommunication: push.0, hasPicture: push.1)
    var delivered = [delivery.begin()]
    delivered += events.map { delivery.take($0) }
    #expect(delivered.compactMap(\.self) == [content], "\(name)")
    #expect(delivered.firstIndex { $0 != nil } == step, "\(name)")
  }

  /// Plays all sequences of five events.
  @Test func `a communication is never delivered as a plain notification`() {
    let events = NotificationDelivery.Event.allCases
    var sequences: [[NotificationDelivery.Event]] = [[]]
    for _ in 0..<5 { sequences = sequences.flatMap { sequence in events.map { sequence + [$0] } } }
    #expect(sequences.count == 3_125)
    for hasPicture in [false, true] {
      for sequence in sequences {
        var delivery = NotificationDelivery(isCommunication: true, hasPicture: hasPicture)
        var delivered = [delivery.begin()].compactMap(\.self)
        for event in sequence {
          #expect(delivery.bestAttempt != .original)
          delivered += [delivery.take(event)].compactMap(\.self)
        }
        delivered += [delivery.take(.expired)].compactMap(\.self)
        #expect(delivered.count == 1 && delivered.first != .original && delivery.isDelivered, "\(sequence)")
      }
    }
  }
}

@Suite(.timeLimit(.minutes(15))) struct NotificationRunTests {
  /// The server of the picture.
  enum Server: Sendable {
    case sends(Data)
    case neverAnswers
  }

  /// The events while the extension runs.
  enum Act {
    /// The time for the picture passes.
    case timePasses
    /// The system calls `serviceExtensionTimeWillExpire()`.
    case expires
  }

  private static let picture = Data("a picture".utf8)
  private static let hash = SHA256Digest.hexadecimal(of: picture)

  private static func push(_ sender: String, kind: String = "message", more: String = "") -> String {
    """
    {"aps":{"alert":{"title":"Ann","body":"Kettle is on"},"mutable-content":1},"communication":{"kind":"\(kind)",\
    "sender":{"id":"ann"\(sender)},"conversation":{"id":"tea","group":false}\(more)}}
    """
  }

  static let table: [(name: String, push: String, Server, [Act], expected: String)] = [
    ("a picture in time", push(#","avatar":"https://a.example/1""#), .sends(picture), [], "communication with picture"),
    (
      "a picture with the expected hash", push(#","avatar":"https://a.example/1","avatarSHA256":"\#(hash)""#),
      .sends(picture), [], "communication with picture"
    ),
    ("no picture", push(""), .neverAnswers, [], "communication"),
    ("no picture in time", push(#","avatar":"https://a.example/1""#), .neverAnswers, [.timePasses], "communication"),
    (
      "a picture of 10 MB", push(#","avatar":"https://a.example/1""#), .sends(Data(count: 10_000_000)), [],
      "communication"
    ),
    ("an http URL", push(#","avatar":"http://a.example/1""#), .sends(picture), [], "communication"),
    ("a text that is no URL", push(#","avatar":"https://""#), .sends(picture), [], "communication"),
    (
      "a wrong hash", push(#","avatar":"https://a.example/1","avatarSHA256":"\#(hash.dropLast())0""#),
      .sends(Data("another picture".utf8)), [], "communication"
    ),
    ("expiry while downloading", push(#","avatar":"https://a.example/1""#), .neverAnswers, [.expires], "communication"),
    (
      "expiry twice", push(#","avatar":"https://a.example/1""#), .neverAnswers, [.expires, .expires, .timePasses],
      "communication"
    ),
    (
      "a digest", #"{"aps":{"alert":"3 messages"},"push":{"notification":"n","receipt":"r"}}"#, .neverAnswers, [],
      "original"
    ),
    ("a plain notification", #"{"aps":{"alert":"Your order has shipped"}}"#, .neverAnswers, [.expires], "original"),
    (
      "a payload of a newer version",
      push(#","avatar":"https://a.example/1","mood":{}"#, kind: "hologram", more: #","version":2,"layers":[1,2]"#),
      .sends(picture), [], "communication with picture"
    ),
    (
      "a payload of a newer version without a sender", #"{"aps":{},"communication":{"version":3}}"#, .neverAnswers, [],
      "original"
    ),
  ]

  @Test(arguments: table.indices) func `the content handler is called once`(_ index: Int) async throws {
    let (name, push, server, acts, expected) = Self.table[index]
    let folder = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let loading = Locked(false)
    let pictures = AvatarCache(
      folder: folder,
      load: { _ in
        loading.withLock { $0 = true }
        switch server {
        case .sends(let data): return data
        case .neverAnswers:
          try await Task.sleep(for: .seconds(600))
          throw AvatarCache.Failure.unreachable
        }
      })
    let payload = CommunicationPayload(reading: push.utf8)
    let delivered = Locked<[String]>([])
    let reports = Locked(0)
    let clock = ManualClock()
    var work = NotificationWork(report: { reports.withLock { $0 += 1 } })
    if let picture = payload?.picture { work.loadPicture = { try await pictures.picture(picture) } }
    let run = NotificationRun(
      original: "original", communication: payload == nil ? nil : "communication", work: work, limit: .seconds(25),
      addPicture: { _ in "communication with picture" },
      deliver: { content in delivered.withLock { $0.append(content) } })
    run.start(clock: clock)
    for act in acts {
      switch act {
      case .timePasses:
        guard delivered.current.isEmpty else { continue }
        try await wait { clock.sleepers == 1 && loading.current }
        #expect(delivered.current.isEmpty, "\(name)")
        clock.advance(by: .seconds(24))
        #expect(delivered.current.isEmpty, "\(name)")
        clock.advance(by: .seconds(1))
      case .expires:
        if payload != nil, delivered.current.isEmpty { try await wait { loading.current } }
        run.expire()
        // The delivery happens before the method returns, because the system ends the extension then.
        #expect(delivered.current == [expected], "\(name)")
      }
    }
    try await wait { !delivered.current.isEmpty && reports.current == 1 }
    // Later events deliver nothing.
    run.expire()
    clock.advance(by: .seconds(60))
    try await wait { clock.sleepers == 0 }
    #expect(delivered.current == [expected], "\(name)")
  }

  @Test func `a plain notification is delivered before the method returns`() {
    let delivered = Locked<[String]>([])
    let run = NotificationRun(
      original: "original", communication: nil,
      work: NotificationWork(report: { try? await Task.sleep(for: .seconds(600)) }),
      limit: .seconds(25), deliver: { content in delivered.withLock { $0.append(content) } })
    run.start()
    #expect(delivered.current == ["original"])
  }

  @Test func `a receipt that never arrives delays nothing, and the donation comes first`() async throws {
    let delivered = Locked<[String]>([])
    let steps = Locked<[String]>([])
    let run = NotificationRun(
      original: "original", communication: "communication",
      work: NotificationWork(
        donate: { steps.withLock { $0.append("donated") } }, report: { try? await Task.sleep(for: .seconds(600)) }),
      limit: .seconds(25), deliver: { content in delivered.withLock { $0.append(content) } })
    run.start(clock: ManualClock())
    try await wait { !delivered.current.isEmpty }
    #expect(steps.current == ["donated"])
    #expect(delivered.current == ["communication"])
  }

  @Test func `a donation that never ends delays until the limit`() async throws {
    let delivered = Locked<[String]>([])
    let clock = ManualClock()
    let run = NotificationRun(
      original: "original", communication: "communication",
      work: NotificationWork(donate: { try? await Task.sleep(for: .seconds(600)) }), limit: .seconds(25),
      deliver: { content in delivered.withLock { $0.append(content) } })
    run.start(clock: clock)
    try await wait { clock.sleepers == 1 }
    clock.advance(by: .seconds(25))
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["communication"])
  }

  @Test func `a picture that cannot be added leaves the communication notification`() async throws {
    let delivered = Locked<[String]>([])
    let run = NotificationRun(
      original: "original", communication: "communication",
      work: NotificationWork(loadPicture: { Data() }), limit: .seconds(25), addPicture: { _ in nil },
      deliver: { content in delivered.withLock { $0.append(content) } })
    run.start(clock: ManualClock())
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["communication"])
  }

  @Test func `events on many threads deliver once`() async throws {
    for _ in 0..<200 {
      let delivered = Locked(0)
      let run = NotificationRun(
        original: "original", communication: "communication", work: NotificationWork(loadPicture: { Data() }),
        limit: .zero, addPicture: { _ in "communication with picture" },
        deliver: { _ in delivered.withLock { $0 += 1 } })
      run.start()
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<4 { tasks.addTask { run.expire() } }
      }
      #expect(delivered.current == 1)
    }
  }
}
