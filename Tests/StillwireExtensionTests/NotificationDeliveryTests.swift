// SPDX-License-Identifier: Apache-2.0
// Tests the one delivery of a notification: the decisions, and their execution with a fake content handler and clock.
import Foundation
import Testing

@testable import StillwireExtension

@Suite struct NotificationDeliveryTests {
  /// The parts of a push: a communication, a picture of the sender or of the group, an image, a receipt.
  struct Push: OptionSet {
    var rawValue: Int
    static let communication = Self(rawValue: 1)
    static let picture = Self(rawValue: 2)
    static let image = Self(rawValue: 4)
    static let receipt = Self(rawValue: 8)
    static let all = (0..<16).map { Self(rawValue: $0) }

    var delivery: NotificationDelivery {
      NotificationDelivery(
        isCommunication: contains(.communication), hasPicture: contains(.picture), hasImage: contains(.image),
        hasReport: contains(.receipt))
    }
  }

  private static func deliver(
    _ isCommunication: Bool, picture: Bool = false, image: Bool = false
  ) -> NotificationDelivery.Action {
    .deliver(.init(isCommunication: isCommunication, hasPicture: picture, hasImage: image))
  }
  private static let communication = deliver(true)
  private static let withPicture = deliver(true, picture: true)

  typealias Row = (
    name: String, push: Push, begin: NotificationDelivery.Action?,
    [(NotificationDelivery.Event, NotificationDelivery.Action?)]
  )

  /// Pushes, the first step, and each event with the step that follows.
  static let rows: [Row] = [
    ("a plain notification is delivered at once", [], deliver(false), []),
    ("a plain notification has no picture of a person", [.picture], deliver(false), []),
    (
      "a plain notification waits for its receipt", [.receipt], nil, [(.reportEnded, deliver(false))]
    ),
    ("a receipt that is late delays nothing more", [.receipt], nil, [(.reportTimedOut, deliver(false))]),
    ("a plain notification with an image", [.image], nil, [(.imageLoaded, deliver(false, image: true))]),
    ("an image that fails", [.image], nil, [(.imageFailed, deliver(false))]),
    ("an image of a dead server", [.image], nil, [(.loadingTimedOut, deliver(false))]),
    (
      "the receipt is faster than the image", [.image, .receipt], nil,
      [(.reportEnded, nil), (.imageLoaded, deliver(false, image: true))]
    ),
    (
      "the image is faster than the receipt", [.image, .receipt], nil,
      [(.imageLoaded, nil), (.reportEnded, deliver(false, image: true))]
    ),
    (
      "without a picture only the donation delays", [.communication], .donate(hasPicture: false),
      [(.donationEnded, communication)]
    ),
    (
      "the donation has the picture, and comes before the update", [.communication, .picture], nil,
      [(.pictureLoaded, .donate(hasPicture: true)), (.donationEnded, withPicture)]
    ),
    (
      "a picture that fails does not delay the donation", [.communication, .picture], nil,
      [(.pictureFailed, .donate(hasPicture: false)), (.donationEnded, communication)]
    ),
    (
      "a dead server of the picture", [.communication, .picture], nil,
      [(.loadingTimedOut, .donate(hasPicture: false)), (.pictureLoaded, nil), (.donationEnded, communication)]
    ),
    (
      "the donation waits for the picture and the image", [.communication, .picture, .image], nil,
      [
        (.pictureLoaded, nil), (.imageLoaded, .donate(hasPicture: true)),
        (.donationEnded, deliver(true, picture: true, image: true)),
      ]
    ),
    (
      "a dead server of the image keeps the picture", [.communication, .picture, .image], nil,
      [(.pictureLoaded, nil), (.loadingTimedOut, .donate(hasPicture: true)), (.donationEnded, withPicture)]
    ),
    (
      "no donation in time", [.communication, .picture], nil,
      [(.pictureLoaded, .donate(hasPicture: true)), (.timedOut, withPicture), (.donationEnded, nil)]
    ),
    (
      "a donation that nobody has begun is ignored", [.communication, .picture], nil,
      [(.donationEnded, nil), (.pictureLoaded, .donate(hasPicture: true)), (.donationEnded, withPicture)]
    ),
    (
      "the receipt does not delay a communication whose donation is slower", [.communication, .receipt],
      .donate(hasPicture: false), [(.reportEnded, nil), (.donationEnded, communication)]
    ),
    (
      "a communication waits for its receipt", [.communication, .receipt], .donate(hasPicture: false),
      [(.donationEnded, nil), (.reportTimedOut, communication), (.reportEnded, nil)]
    ),
    (
      "the system ends the time", [.communication, .picture, .receipt], nil,
      [(.expired, communication), (.pictureLoaded, nil), (.donationEnded, nil), (.expired, nil)]
    ),
    (
      "a loaded picture is kept at the end", [.communication, .picture, .image], nil,
      [(.pictureLoaded, nil), (.expired, withPicture)]
    ),
    (
      "a picture after its failure is ignored", [.communication, .picture], nil,
      [(.pictureFailed, .donate(hasPicture: false)), (.pictureLoaded, nil), (.donationEnded, communication)]
    ),
  ]

  @Test(arguments: rows.indices) func `a notification has these steps`(_ index: Int) {
    let (name, push, first, events) = Self.rows[index]
    var delivery = push.delivery
    #expect(delivery.begin() == first, "\(name)")
    for (event, action) in events { #expect(delivery.take(event) == action, "\(name): \(event)") }
    #expect(delivery.isDelivered, "\(name)")
  }

  /// Plays all sequences of four events, for each push.
  @Test func `each notification is delivered once, after at most one donation, and never becomes worse`() {
    let events = NotificationDelivery.Event.allCases
    var sequences: [[NotificationDelivery.Event]] = [[]]
    for _ in 0..<4 { sequences = sequences.flatMap { sequence in events.map { sequence + [$0] } } }
    #expect(sequences.count == 10_000)
    for push in Push.all {
      for sequence in sequences {
        var delivery = push.delivery
        var actions = [delivery.begin()].compactMap(\.self)
        for event in sequence + [.expired] {
          let before = delivery.bestAttempt
          actions += [delivery.take(event)].compactMap(\.self)
          let after = delivery.bestAttempt
          #expect(!before.hasPicture || after.hasPicture)
          #expect(!before.hasImage || after.hasImage)
        }
        // The delivery is the last step, and the only other one is the donation of a communication.
        let last = NotificationDelivery.Action.deliver(delivery.bestAttempt)
        #expect(actions.last == last && delivery.isDelivered, "\(push) \(sequence)")
        #expect(delivery.bestAttempt.isCommunication == push.contains(.communication))
        let donations = actions.dropLast()
        #expect(donations.count <= (push.contains(.communication) ? 1 : 0), "\(push) \(sequence)")
        for case .deliver in donations { Issue.record("a second delivery: \(push) \(sequence)") }
      }
    }
  }

  @Test func `a dead server delays by 5 to 8 seconds`() {
    let limit = NotificationDelivery.limit
    #expect(NotificationDelivery.loadingLimit(of: limit) >= .seconds(5) && limit <= .seconds(8))
    #expect(AvatarCache.timeout == NotificationDelivery.loadingLimit(of: limit))
    #expect(NotificationDelivery.loadingLimit(of: .seconds(4)) == .seconds(3))
    #expect(NotificationDelivery.maxLimit < .seconds(30))
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
    let steps = Locked<[String]>([])
    let clock = ManualClock()
    var work = NotificationWork(
      donate: { picture in steps.withLock { $0.append(picture == nil ? "donated" : "donated with picture") } },
      report: { steps.withLock { $0.append("reported") } })
    if let picture = payload?.picture { work.loadPicture = { try await pictures.picture(picture) } }
    let run = NotificationRun(
      original: "original", isCommunication: payload != nil, work: work,
      edits: NotificationEdits(update: { content, picture in
        steps.withLock { $0.append("updated") }
        return content == "original" ? picture == nil ? "communication" : "communication with picture" : nil
      }), deliver: { content in delivered.withLock { $0.append(content) } })
    run.start(clock: clock)
    for act in acts {
      switch act {
      case .timePasses:
        guard delivered.current.isEmpty else { continue }
        try await wait { clock.sleepers == 3 && loading.current }
        clock.advance(by: .milliseconds(5_999))
        #expect(delivered.current.isEmpty, "\(name)")
        clock.advance(by: .milliseconds(1))
      case .expires:
        if payload != nil, delivered.current.isEmpty { try await wait { loading.current } }
        run.expire()
        // The delivery happens before the method returns, because the system ends the extension then.
        #expect(delivered.current == [expected], "\(name)")
      }
    }
    try await wait { !delivered.current.isEmpty }
    // Later events deliver nothing.
    run.expire()
    clock.advance(by: .seconds(60))
    try await wait { clock.sleepers == 0 }
    #expect(delivered.current == [expected], "\(name)")
    guard !acts.contains(.expires) else { return }
    // The update follows the donation, and both have the same picture.
    let isCommunication = payload != nil
    let donated = expected == "communication with picture" ? "donated with picture" : "donated"
    #expect(steps.current.filter { $0 != "reported" } == (isCommunication ? [donated, "updated"] : []), "\(name)")
    #expect(steps.current.contains("reported"), "\(name)")
  }

  /// Runs a notification whose content is a text.
  private func run(
    isCommunication: Bool = false, _ work: NotificationWork, limit: Duration = NotificationDelivery.limit,
    update: @escaping (String, Data?) -> String? = { content, picture in
      "\(content), updated\(picture == nil ? "" : " with picture")"
    }, _ delivered: Locked<[String]>
  ) -> NotificationRun<String> {
    NotificationRun(
      original: "original", isCommunication: isCommunication, work: work, limit: limit,
      edits: NotificationEdits(attach: { "\($0), \($1.lastPathComponent)" }, update: update),
      deliver: { content in delivered.withLock { $0.append(content) } })
  }

  private static let forever: @Sendable () async -> Void = { try? await Task.sleep(for: .seconds(600)) }

  /// The events before which the person signs out.
  @Test(arguments: [false, true])
  func `a notification shows no text if its recipient signs out before the delivery`(_ expires: Bool) async throws {
    let (delivered, updates) = (Locked<[String]>([]), Locked(0))
    let isSignedOut = Locked(false)
    let (picture, finish) = AsyncStream<Data>.makeStream()
    let run = NotificationRun(
      original: "original", isCommunication: true,
      work: NotificationWork(
        loadPicture: {
          for await data in picture { return data }
          throw CancellationError()
        }, loadImage: { URL(filePath: "/image.png") }),
      edits: NotificationEdits(
        attach: { "\($0), \($1.lastPathComponent)" },
        update: { content, _ in
          updates.withLock { $0 += 1 }
          return "\(content), updated"
        }, hide: { isSignedOut.current ? "hidden" : nil }),
      deliver: { content in delivered.withLock { $0.append(content) } })
    run.start(clock: ManualClock())
    #expect(delivered.current == [])
    isSignedOut.withLock { $0 = true }
    if expires { run.expire() } else { finish.yield(Self.picture) }
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["hidden"] && updates.current == 0)
  }

  @Test func `a notification without work is delivered before the method returns`() {
    let delivered = Locked<[String]>([])
    run(NotificationWork(), delivered).start()
    #expect(delivered.current == ["original"])
  }

  @Test(arguments: [false, true]) func `the receipt begins before the delivery`(_ isCommunication: Bool) async throws {
    let delivered = Locked<[String]>([])
    let deliveredBefore = Locked<Bool?>(nil)
    let clock = ManualClock()
    let run = run(
      isCommunication: isCommunication,
      NotificationWork(report: { deliveredBefore.withLock { $0 = !delivered.current.isEmpty } }), delivered)
    run.start(clock: clock)
    // The clock stands still, so that only the end of the report can deliver.
    try await wait { !delivered.current.isEmpty }
    #expect(deliveredBefore.current == false)
  }

  @Test func `a receipt that never arrives delays by one second`() async throws {
    let delivered = Locked<[String]>([])
    let clock = ManualClock()
    run(isCommunication: true, NotificationWork(report: Self.forever), delivered).start(clock: clock)
    try await wait { clock.sleepers == 2 }
    clock.advance(by: .milliseconds(999))
    #expect(delivered.current.isEmpty)
    clock.advance(by: .milliseconds(1))
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["original, updated"])
  }

  @Test func `a donation that never ends delays until the limit`() async throws {
    let delivered = Locked<[String]>([])
    let clock = ManualClock()
    run(isCommunication: true, NotificationWork(donate: { _ in await Self.forever() }), delivered).start(clock: clock)
    try await wait { clock.sleepers == 1 }
    clock.advance(by: .milliseconds(7_999))
    #expect(delivered.current.isEmpty)
    clock.advance(by: .milliseconds(1))
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["original, updated"])
  }

  /// Limits, and the time of the delivery after which a dead server delays no more.
  @Test(
    arguments: [
      (.seconds(8), .seconds(6)), (.seconds(4), .seconds(3)), (.seconds(600), .milliseconds(18_750)),
      (.seconds(-1), .zero),
    ] as [(Duration, Duration)])
  func `the limit has a maximum`(_ limit: Duration, _ end: Duration) async throws {
    let delivered = Locked<[String]>([])
    let clock = ManualClock()
    run(
      NotificationWork(loadImage: {
        await Self.forever()
        throw AvatarCache.Failure.unreachable
      }), limit: limit, delivered
    ).start(clock: clock)
    if end > .zero {
      try await wait { clock.sleepers == 2 }
      clock.advance(by: end - .milliseconds(1))
      #expect(delivered.current.isEmpty)
      clock.advance(by: .milliseconds(1))
    }
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["original"])
  }

  @Test func `the image is attached before the update`() async throws {
    let delivered = Locked<[String]>([])
    let work = NotificationWork(loadPicture: { Data() }, loadImage: { URL(filePath: "/cat.jpeg") })
    run(isCommunication: true, work, delivered).start(clock: ManualClock())
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["original, cat.jpeg, updated with picture"])
  }

  @Test func `an intent that the system rejects leaves the text and the image`() async throws {
    let delivered = Locked<[String]>([])
    let work = NotificationWork(loadImage: { URL(filePath: "/cat.jpeg") })
    run(isCommunication: true, work, update: { _, _ in nil }, delivered).start(clock: ManualClock())
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["original, cat.jpeg"])
  }

  @Test func `a picture that cannot be added leaves the communication notification`() async throws {
    let delivered = Locked<[String]>([])
    run(
      isCommunication: true, NotificationWork(loadPicture: { Data() }),
      update: { content, picture in picture == nil ? "\(content), updated" : nil }, delivered
    ).start(clock: ManualClock())
    try await wait { !delivered.current.isEmpty }
    #expect(delivered.current == ["original, updated"])
  }

  @Test func `events on many threads deliver once`() async throws {
    for _ in 0..<200 {
      let delivered = Locked<[String]>([])
      let run = run(
        isCommunication: true,
        NotificationWork(loadPicture: { Data() }, loadImage: { URL(filePath: "/cat.jpeg") }, report: {}), limit: .zero,
        delivered)
      run.start()
      await withTaskGroup(of: Void.self) { tasks in
        for _ in 0..<4 { tasks.addTask { run.expire() } }
      }
      #expect(delivered.current.count == 1)
    }
  }
}

@Suite(.timeLimit(.minutes(15))) struct NotificationImageTests {
  private static let jpeg = Data([0xff, 0xd8, 0xff, 0xe0, 0, 1, 2, 3])

  /// The first bytes of files, and the format that the system accepts.
  static let files: [(String, [UInt8], NotificationImage.Format?)] = [
    ("JPEG", Array(jpeg), .jpeg), ("PNG", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0], .png),
    ("GIF of 1987", Array("GIF87a...".utf8), .gif), ("GIF", Array("GIF89a...".utf8), .gif),
    ("WebP", Array("RIFF....WEBP".utf8), nil), ("HEIC", Array("....ftypheic".utf8), nil),
    ("a page", Array("<!doctype html>".utf8), nil), ("a part of a PNG", [0x89, 0x50, 0x4e, 0x47], nil),
    ("a part of a JPEG", [0xff, 0xd8], nil), ("nothing", [], nil),
  ]

  @Test(arguments: files.indices) func `the format is that of the first bytes`(_ index: Int) {
    let (name, bytes, format) = Self.files[index]
    #expect(NotificationImage.Format(of: bytes) == format, "\(name)")
  }

  @Test func `a payload of each kind has an image`() {
    let message = #"{"aps":{},"communication":{"sender":{"id":"ann"}},"image":"https://a.example/1"}"#
    #expect(NotificationImage(reading: message.utf8)?.url == "https://a.example/1")
    #expect(NotificationImage(reading: #"{"aps":{},"push":{},"image":"https://a.example/1"}"#.utf8) != nil)
    for text in [#"{"aps":{}}"#, #"{"image":""}"#, #"{"image":7}"#, "no JSON"] {
      #expect(NotificationImage(reading: text.utf8) == nil, "\(text)")
    }
    let long = #"{"image":"https://a.example/\#(String(repeating: "a", count: 5_120))"}"#
    #expect(NotificationImage(reading: long.utf8) == nil)
  }

  /// URLs and answers, and the failure or the file.
  static let answers: [(name: String, url: String, Data, AvatarCache.Failure?)] = [
    ("a picture", "https://a.example/1", jpeg, nil),
    ("the maximum size", "https://a.example/1", jpeg + Data(count: NotificationImage.maxSize - 8), nil),
    ("above the maximum size", "https://a.example/1", jpeg + Data(count: NotificationImage.maxSize - 7), .tooLarge),
    ("an http URL", "http://a.example/1", jpeg, .notSecure), ("no URL", "https://", jpeg, .notSecure),
    ("a page", "https://a.example/1", Data("<html>".utf8), .notPicture),
  ]

  @Test(arguments: answers.indices) func `the image becomes a file`(_ index: Int) async throws {
    let (name, url, answer, failure) = Self.answers[index]
    let folder = FileManager.default.temporaryDirectory.appending(path: "images-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    do {
      let file = try await NotificationImage(url: url).file(in: folder) { _ in answer }
      #expect(failure == nil && file.pathExtension == "jpeg", "\(name)")
      #expect(try Data(contentsOf: file) == answer, "\(name)")
    } catch let error as AvatarCache.Failure {
      #expect(error == failure, "\(name)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "\(name)")
    }
  }
}
