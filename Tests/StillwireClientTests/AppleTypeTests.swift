// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
  import Foundation
  import Testing

  /// Compiles the code that needs Apple's frameworks, for each of Apple's systems.
  @Suite(.serialized, .timeLimit(.minutes(20))) struct AppleTypeTests {
    private static let features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"].flatMap {
      ["-enable-upcoming-feature", $0]
    }

    @Test(arguments: AppleSystem.allCases)
    func `StillwireApple has the types of Apple's frameworks, without data races`(_ system: AppleSystem) throws {
      let sources = try AppleModules.sources()
      #expect(sources.count > 10)
      let modules = try AppleModules(system)
      defer { modules.remove() }
      for mode in [5, 6] { try modules.compile(sources, as: "StillwireApple", mode: mode, Self.features) }
    }

    @Test(arguments: [5, 6]) func `the samples of the articles compile`(_ mode: Int) throws {
      let modules = try AppleModules(.iOS)
      defer { modules.remove() }
      try modules.compile(AppleModules.sources(), as: "StillwireApple", mode: mode, Self.features)
      let maps = try moduleMaps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
      try modules.compile(["Samples.swift": samplesOfArticles], as: "Samples", mode: mode, maps)
    }

    /// Mistakes in the sources, the systems for which the compiler must reject them, and a part of its message.
    static let mistakes: [(file: String, String, with: String, AppleSystem, message: String)] = [
      (
        "CommunicationPayload+UserInfo.swift", "canImport(UserNotifications) && !os(tvOS)",
        with: "canImport(UserNotifications)", .tvOS, "'userInfo' is unavailable"
      ),
      (
        "NotificationPermissions+Settings.swift", " && !os(tvOS)", with: "", .tvOS, "'alertSetting' is unavailable"
      ),
      ("FocusStatusHandler.swift", " && !os(tvOS)", with: "", .tvOS, "'INShareFocusStatusIntent' is unavailable"),
      ("IncomingCall+CallKit.swift", " && !os(macOS)", with: "", .macOS, "'CXProvider' is unavailable"),
      // The intent and the content handler are not Sendable.
      (
        "FocusStatusHandler.swift", ".report(isFocused: isFocused,",
        with: ".report(isFocused: isFocused ?? intent.focusStatus?.isFocused,", .iOS, "data race"
      ),
      ("NotificationService.swift", "run.start()", with: "Task { contentHandler(original) }", .iOS, "data race"),
      (
        "NotificationService.swift", "      run.start()",
        with: """
        _ = INMessage(
          identifier: "", conversationIdentifier: nil, content: nil, dateSent: nil, sender: nil, recipients: nil,
          groupName: nil, serviceName: nil, messageType: .text, numberOfAttachments: nil)
        """, .iOS, "needs iOS 17"
      ),
      ("NotificationService.swift", "INImage(imageData: picture)", with: "INImage(data: picture)", .iOS, "imageData"),
    ]

    @Test(arguments: mistakes.indices) func `the check finds a mistake`(_ index: Int) throws {
      let (file, original, mistake, system, message) = Self.mistakes[index]
      var sources = try AppleModules.sources()
      let source = try #require(sources[file])
      let changed = source.replacing(original, with: mistake)
      #expect(changed != source)
      sources[file] = changed
      let modules = try AppleModules(system)
      defer { modules.remove() }
      let failure = #expect(throws: AppleModules.Failure.self) {
        try modules.compile(sources, as: "StillwireApple", mode: 6, Self.features)
      }
      #expect(failure?.description.contains(message) == true, "\(failure?.description ?? "")")
    }

    @Test(arguments: AppleModules.names) func `each stand-in names the page that it comes from`(_ name: String) throws {
      let source = try String(contentsOf: AppleModules.standIn(name), encoding: .utf8)
      var page: String?
      var count = 0
      for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
        if line.hasPrefix("// https://developer.apple.com/documentation/") {
          page = String(line)
        } else if line.wholeMatch(of: /(open|public|extension) .*/) != nil, !line.hasPrefix("public import") {
          #expect(page != nil, "\(line)")
          (page, count) = (nil, count + 1)
        } else if !line.hasPrefix("@available") {
          page = nil
        }
      }
      #expect(count > 0)
    }

    /// The samples of the articles, inside the declarations of an app.
    private var samplesOfArticles: String {
      get throws {
        let actions = try samples(of: "NotificationActions")
        let communication = try samples(of: "CommunicationNotifications")
        let filters = try samples(of: "FocusFilters")
        let focus = try samples(of: "SharingFocus")
        try #require(actions.count == 2 && communication.count == 3 && filters.count == 2 && focus.count == 5)
        return """
          import CallKit
          import Foundation
          import FoundationNetworking
          import Intents
          import PushKit
          import StillwireApple
          import StillwireClient
          import UserNotifications
          struct Keychain {
            static let shared = Keychain()
            func token() throws -> String { "" }
          }
          struct Session {
            func token() async throws -> String { "" }
          }
          let session = Session()
          extension FileManager {
            func containerURL(forSecurityApplicationGroupIdentifier: String) -> URL? { nil }
          }
          func declareCategories(defaults: UserDefaults) async throws {
          \(actions[0])}
          final class Delegate: NSObject, UNUserNotificationCenterDelegate, Sendable {
          \(actions[1])}
          \(communication[0])
          final class Calls: NSObject, PKPushRegistryDelegate {
            let provider: CXProvider
            init(provider: CXProvider) { self.provider = provider }
          \(communication[1])}
          func donate(to bob: INPerson) async throws {
          \(communication[2])}
          \(filters[1])
          \(focus[0..<3].joined(separator: "\n"))
          func reportNow() async throws {
          \(focus[3])}
          func requestFocus() {
          \(focus[4])}
          """
      }
    }

    /// The blocks of Swift code in an article.
    private func samples(of article: String) throws -> [String] {
      let file = AppleModules.root.appending(path: "Sources/StillwireClient/StillwireClient.docc/\(article).md")
      let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```swift\n")
      return parts.dropFirst().compactMap { $0.components(separatedBy: "```").first }
    }

    /// The module maps of the C modules that StillwireClient's dependencies use: their own, and those of SwiftPM.
    private var moduleMaps: [String] {
      get throws {
        let files = FileManager.default
        let build = AppleModules.root.appending(path: ".build/debug").resolvingSymlinksInPath()
        var found: [String] = []
        for folder in try files.contentsOfDirectory(atPath: build.path) where folder.hasPrefix("C") {
          found.append(build.appending(path: "\(folder)/module.modulemap").path)
        }
        let checkouts = AppleModules.root.appending(path: ".build/checkouts")
        let own = [
          "swift-atomics/Sources/_AtomicsShims", "swift-nio-ssl/Sources/CNIOBoringSSL", "swift-nio/Sources/CNIOWindows",
        ]
        for folder in own {
          found.append(checkouts.appending(path: "\(folder)/include/module.modulemap").path)
        }
        return found.filter { files.fileExists(atPath: $0) }
      }
    }
  }
#endif
