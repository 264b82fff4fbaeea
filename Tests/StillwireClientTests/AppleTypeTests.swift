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
    func `the libraries have the types of Apple's frameworks, without data races`(_ system: AppleSystem) async throws {
      let (apple, ui) = try (AppleModules.sources(), AppleModules.sources(in: "Sources/StillwireUI"))
      #expect(apple.count > 10 && ui.count > 10)
      let modules = try await AppleModules(system)
      defer { modules.remove() }
      for mode in [5, 6] {
        try await modules.compile(apple, as: "StillwireApple", mode: mode, Self.features)
        try await modules.compile(ui, as: "StillwireUI", mode: mode, Self.features + moduleMaps)
      }
    }

    private static let folderOfExtension = "Sources/StillwireExtension"
    private static let folderOfClient = "Sources/StillwireClient"

    @Test(arguments: AppleSystem.allCases)
    func `the client and the library for extensions have the types of Apple's frameworks`(_ system: AppleSystem)
      async throws
    {
      let library = try AppleModules.sources(below: Self.folderOfExtension)
      let client = try AppleModules.sources(below: Self.folderOfClient)
      let modules = try await AppleModules(system)
      defer { modules.remove() }
      let arguments = try Self.features + moduleMaps
      try await modules.compileStandInsOfClients(arguments)
      // These sources have no conditions for single systems.
      for mode in system == .iOS ? [5, 6] : [6] {
        try await modules.compile(library, as: "StillwireExtension", mode: mode, arguments)
        try await modules.compile(client, as: "StillwireClient", mode: mode, arguments)
      }
    }

    /// Mistakes in these sources, and a part of the compiler's message.
    static let mistakesOfClients: [(folder: String, file: String, String, with: String, message: String)] = [
      (
        folderOfExtension, "PictureScaler.swift", "ThumbnailAtIndex(source, 0, options as CFDictionary)",
        with: "ThumbnailAtIndex(source, options as CFDictionary)", "missing argument"
      ),
      (
        folderOfExtension, "PictureScaler.swift", "guard CGImageDestinationFinalize(destination) else",
        with: "guard let _ = CGImageDestinationFinalize(destination) else", "Optional type"
      ),
      (
        folderOfClient, "Transport.swift", "NWProtocolTLS.Options()", with: "NWProtocolTLS.Configuration()",
        "has no member 'Configuration'"
      ),
      (
        folderOfClient, "Transport.swift", "_ initialize: @escaping @Sendable (any Channel)",
        with: "_ initialize: @escaping (any Channel)", "Sendable"
      ),
    ]

    @Test(arguments: mistakesOfClients.indices) func `the check finds a mistake in a client`(_ index: Int) async throws
    {
      let (folder, file, original, mistake, message) = Self.mistakesOfClients[index]
      var sources = try AppleModules.sources(below: folder)
      let changed = try #require(sources[file]).replacing(original, with: mistake)
      #expect(changed != sources[file])
      sources[file] = changed
      let modules = try await AppleModules(.iOS)
      defer { modules.remove() }
      let arguments = try Self.features + moduleMaps
      try await modules.compileStandInsOfClients(arguments)
      let failure = await #expect(throws: AppleModules.Failure.self) {
        try await modules.compile(
          sources, as: folder.replacing("Sources/", with: ""), mode: 6, arguments)
      }
      #expect(failure?.description.contains(message) == true, "\(failure?.description ?? "")")
    }

    @Test func `the stand-in of NIOTransportServices has the declarations of the package`() throws {
      let place = AppleModules.root.appending(
        path: ".build/checkouts/swift-nio-transport-services/Sources/NIOTransportServices")
      let sources = try FileManager.default.contentsOfDirectory(atPath: place.path).filter { $0.hasSuffix(".swift") }
        .map { try String(contentsOf: place.appending(path: $0), encoding: .utf8) }
      let package = sources.joined().split { " \n".contains($0) }.joined(separator: " ").replacing("( ", with: "(")
        .replacing(" )", with: ")")
      let members = try AppleModules.declarations(of: "NIOTransportServices").map(\.text)
      #expect(members.count == 8)
      for member in members {
        // The package has no `any`.
        let text = member.replacing("any ", with: "").replacing("static ", with: "public static ")
        #expect(package.contains(text), "\(text)")
      }
    }

    /// The modules of an app for iOS 17: the stand-ins and the libraries.
    private func modulesOfApp() async throws -> AppleModules {
      let modules = try await AppleModules(.iOS, deployment: 17)
      try await modules.compile(AppleModules.sources(), as: "StillwireApple", mode: 6, Self.features)
      let ui = try AppleModules.sources(in: "Sources/StillwireUI")
      try await modules.compile(ui, as: "StillwireUI", mode: 6, Self.features + moduleMaps)
      return modules
    }

    @Test func `each target of the sample app compiles`() async throws {
      let modules = try await modulesOfApp()
      defer { modules.remove() }
      let targets = try SampleApp.targets()
      #expect(targets.map(\.name) == ["Chat", "Service", "Focus", "Filter"])
      for (name, folders) in targets {
        let sources = try SampleApp.sources(in: folders)
        for mode in [5, 6] { try await modules.compile(sources, as: name, mode: mode, moduleMaps) }
        try await modules.compile(sources, as: name, mode: 6, moduleMaps + Self.mainActor)
      }
    }

    /// The settings of new projects in Xcode 26: "Default Actor Isolation", and the upcoming feature.
    private static let mainActor = [
      "-default-isolation", "MainActor", "-enable-upcoming-feature", "MemberImportVisibility",
    ]

    @Test func `the check finds a missing import`() async throws {
      let modules = try await modulesOfApp()
      defer { modules.remove() }
      var sources = try SampleApp.sources(in: ["App", "Accounts", "Shared"])
      let delegate = try #require(sources["AppDelegate.swift"])
      sources["AppDelegate.swift"] = delegate.replacing("import StillwireUI", with: "import StillwireApple")
      #expect(sources["AppDelegate.swift"] != delegate)
      let failure = await #expect(throws: AppleModules.Failure.self) {
        try await modules.compile(sources, as: "Chat", mode: 6, moduleMaps + Self.mainActor)
      }
      #expect(
        failure?.description.contains("missing import of defining module 'StillwireUI'") == true,
        "\(failure?.description ?? "")")
    }

    @Test func `the check finds an extension on the main actor`() async throws {
      let modules = try await modulesOfApp()
      defer { modules.remove() }
      let sources = try SampleApp.sources(in: ["Service", "Focus", "Shared"])
      for name in ["NotificationService", "IntentHandler"] {
        var changed = sources
        changed["\(name).swift"] = sources["\(name).swift"]?.replacing("nonisolated final class", with: "final class")
        #expect(changed != sources)
        let failure = await #expect(throws: AppleModules.Failure.self) {
          try await modules.compile(changed, as: "Extension", mode: 6, moduleMaps + Self.mainActor)
        }
        #expect(failure?.description.contains("main actor-isolated") == true, "\(failure?.description ?? "")")
      }
    }

    @Test func `the article shows each file of the sample app`() throws {
      let blocks = try samples(of: "SettingUpAnApp")
      let folders = Set(try SampleApp.targets().flatMap(\.folders))
      let files = try folders.flatMap { try AppleModules.sources(in: "\(SampleApp.folder)/\($0)").values }
      // Without the licence.
      let texts = files.map { $0.split(separator: "\n", maxSplits: 1).last.map(String.init) ?? "" }
      #expect(texts.count == 9 && Set(texts).subtracting(blocks) == [])
    }

    /// The files that an app has after a section of the tutorial.
    static let sections: [(name: String, files: [String])] = [
      ("First", ["Chat", "Session", "RoomScreen-01", "ChatApp-01"]),
      ("Last", ["Chat", "Session", "RoomScreen-02", "ChatApp-02", "AppDelegate"]),
      ("Service", ["Chat", "NotificationService"]), ("Focus", ["Chat", "IntentHandler"]),
    ]

    @Test func `the tutorial's code compiles, and each of its files is used`() async throws {
      let place = "Sources/StillwireClient/StillwireClient.docc"
      let files = try AppleModules.sources(in: "\(place)/Resources")
      let text = try String(
        contentsOf: AppleModules.root.appending(path: "\(place)/Tutorials/BreakThroughAFocus.tutorial"), encoding: .utf8
      )
      #expect(Set(text.matches(of: /file: "([\w-]+\.swift)"/).map { String($0.1) }) == Set(files.keys))
      #expect(Set(Self.sections.flatMap(\.files)) == Set(files.keys.map { String($0.dropFirst(9).dropLast(6)) }))
      let modules = try await modulesOfApp()
      defer { modules.remove() }
      for (name, names) in Self.sections {
        var sources = ["Linux.swift": SampleApp.linux]
        for name in names { sources["\(name).swift"] = files["tutorial-\(name).swift"].map(SampleApp.onLinux) }
        for mode in [5, 6] { try await modules.compile(sources, as: name, mode: mode, moduleMaps) }
        try await modules.compile(sources, as: name, mode: 6, moduleMaps + Self.mainActor)
      }
    }

    @Test func `the sample app has at most 160 lines of code`() throws {
      let folders = Set(try SampleApp.targets().flatMap(\.folders))
      let sources = try folders.flatMap { try AppleModules.sources(in: "\(SampleApp.folder)/\($0)").values }
      let lines = sources.joined(separator: "\n").split(separator: "\n").map { $0.drop { $0 == " " } }
      let code = lines.filter { !$0.isEmpty && !$0.hasPrefix("//") }
      #expect(code.count > 100 && code.count <= 160, "\(code.count) lines")
    }

    @Test(arguments: [5, 6]) func `the samples of the articles compile`(_ mode: Int) async throws {
      let modules = try await modulesOfApp()
      defer { modules.remove() }
      try await modules.compile(["Samples.swift": samplesOfArticles], as: "Samples", mode: mode, moduleMaps)
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
      // A backup must not give the device of an account to another phone.
      (
        "AccountKeychain.swift", "AfterFirstUnlockThisDeviceOnly", with: "AfterFirstUnlock", .iOS,
        "cannot find 'kSecAttrAccessibleAfterFirstUnlock'"
      ),
      ("CallReceiver.swift", " && !os(macOS)", with: "", .macOS, "is unavailable"),
      (
        "CallReceiver.swift", "await calls.refuse(call.id, reason)",
        with: "print(self); await calls.refuse(call.id, reason)", .iOS, "Sendable"
      ),
      (
        "CallReceiver.swift", "pushCredentials: PKPushCredentials", with: "pushCredentials: Data", .iOS,
        "does not conform"
      ),
      (
        "CallReceiver.swift", "MainActor.assumeIsolated { calls.apply(.accepted, to: id) }",
        with: "calls.apply(.accepted, to: id)", .iOS, "main actor-isolated"
      ),
      (
        "CallReceiver.swift", "@available(iOS 26.4, visionOS 26.4, watchOS 26.4, *)", with: "", .iOS, "needs iOS 26.4"
      ),
      ("CallReceiver.swift", "metadata.mustReport", with: "metadata.isRequired", .iOS, "has no member 'isRequired'"),
      (
        "NotificationPermissions+Settings.swift", "os(watchOS)", with: "os(tvOS)", .watchOS,
        "'lockScreenSetting' is unavailable"
      ),
      (
        "NotificationResponder.swift", "completionHandler: @escaping @Sendable () -> Void",
        with: "completionHandler: @escaping () -> Void", .iOS, "Sendable"
      ),
      (
        "CommunicationPayload+UserInfo.swift", "identifier: \"\", url: file", with: "identifier: \"\", file: file",
        .iOS,
        "extra argument 'file'"
      ),
      ("CallReceiver.swift", "action.isOnHold", with: "action.onHold", .iOS, "has no member 'onHold'"),
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
      ("NotificationService.swift", "INImage(imageData: $0)", with: "INImage(data: $0)", .iOS, "imageData"),
    ]

    @Test(arguments: mistakes.indices) func `the check finds a mistake`(_ index: Int) async throws {
      let (file, original, mistake, system, message) = Self.mistakes[index]
      var sources = try AppleModules.sources()
      let source = try #require(sources[file])
      let changed = source.replacing(original, with: mistake)
      #expect(changed != source)
      sources[file] = changed
      let modules = try await AppleModules(system)
      defer { modules.remove() }
      let failure = await #expect(throws: AppleModules.Failure.self) {
        try await modules.compile(sources, as: "StillwireApple", mode: 6, Self.features)
      }
      #expect(failure?.description.contains(message) == true, "\(failure?.description ?? "")")
    }

    /// Mistakes in the sources of StillwireUI.
    static let mistakesOfViews: [(file: String, String, with: String, message: String)] = [
      (
        "ShareFocusToggle.swift", "@available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)", with: "",
        "needs iOS 17"
      ),
      ("RoomModel.swift", "@MainActor @Observable", with: "@Observable", "data race"),
      ("PresenceDot.swift", "systemName: look.symbol", with: "systemName: look", "cannot convert value"),
    ]

    @Test(arguments: mistakesOfViews.indices) func `the check finds a mistake in a view`(_ index: Int) async throws {
      let (file, original, mistake, message) = Self.mistakesOfViews[index]
      var sources = try AppleModules.sources(in: "Sources/StillwireUI")
      let changed = try #require(sources[file]).replacing(original, with: mistake)
      #expect(changed != sources[file])
      sources[file] = changed
      let modules = try await AppleModules(.iOS)
      defer { modules.remove() }
      try await modules.compile(AppleModules.sources(), as: "StillwireApple", mode: 6, Self.features)
      let failure = await #expect(throws: AppleModules.Failure.self) {
        try await modules.compile(sources, as: "StillwireUI", mode: 6, Self.features + moduleMaps)
      }
      #expect(failure?.description.contains(message) == true, "\(failure?.description ?? "")")
    }

    /// Code with a condition for newer systems, and a part of the compiler's message.
    static let conditions: [(String, message: String?)] = [
      ("if #available(iOS 17, watchOS 10, *) { use17() }", nil),
      ("if #available(iOS 17, watchOS 10, *) { use17() } else { print(\"old\") }", nil),
      ("if #available(iOS 18, *) { if #available(iOS 17, *) { use17() } }", nil),
      ("if #available(iOS 18, *) { use17(); use18() }", nil),
      ("use17()", "needs iOS 17"),
      ("if #available(iOS 17, *) { use18() }", "needs iOS 18"),
      ("if #available(iOS 17, *) { print(\"new\") } else { use17() }", "needs iOS 17"),
      ("if #available(iOS 17, *) { use17() }; use17()", "needs iOS 17"),
      ("if #available(iOS 17, *) { nothing() }", "nothing"),
      ("if #available(iOS 17, *) { print(\"new\") } else { nothing() }", "nothing"),
      ("guard #available(iOS 17, *) else { return }; use17()", "only as the whole condition of `if`"),
      ("if #available(iOS 17, *), true { use17() }", "only as the whole condition of `if`"),
    ]

    @Test func `the check compiles both branches of a condition, each for its systems`() async throws {
      let modules = try await AppleModules(.iOS)
      defer { modules.remove() }
      for (code, message) in Self.conditions {
        let source = """
          @available(iOS 17, watchOS 10, *) func use17() {}
          @available(iOS 18, *) func use18() {}
          func sample() { \(code) }
          func value() -> Int { if #available(iOS 17, *) { return 1 } else { return 2 } }
          """
        do {
          try await modules.compile(["Sample.swift": source], as: "Sample", mode: 6)
          #expect(message == nil, "\(code)")
        } catch let failure as AppleModules.Failure {
          #expect(message.map { failure.description.contains($0) } == true, "\(code): \(failure)")
        }
      }
    }

    @Test func `each stand-in has its page at Apple, and a row of the table`() throws {
      var rows: [String] = []
      for name in AppleModules.names + AppleModules.namesOfClients {
        let declarations = try AppleModules.declarations(of: name)
        #expect(!declarations.isEmpty)
        for declaration in declarations {
          let page = try #require(declaration.page, "\(declaration)")
          #expect(page.hasPrefix(AppleModules.pagesOfApple) != (name == "NIOTransportServices"), "\(page)")
          let path = page.replacing(AppleModules.pagesOfApple, with: "")
          rows.append("| \(name) | `\(declaration.text)` | \(declaration.systems) | [\(path)](\(page)) |")
        }
      }
      let file = AppleModules.root.appending(path: "Tests/StillwireClientTests/StandIns/README.md")
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)
      let table = lines.filter { $0.hasPrefix("| ") }.dropFirst()
      #expect(Array(table) == rows, "the table must be:\n\(rows.joined(separator: "\n"))")
    }

    /// The sample app `Tests/Apps/ios`.
    private enum SampleApp {
      static let folder = "Tests/Apps/ios"
      /// On Linux, `URLSession` is in a module of its own.
      static let linux = "import FoundationNetworking\ntypealias URLSession = FoundationNetworking.URLSession"

      /// The source of a file with the import that only Linux needs.
      static func onLinux(_ source: String) -> String {
        source.contains("URLSession") ? "import FoundationNetworking\n\(source)" : source
      }

      /// The sources of a target.
      static func sources(in folders: [String]) throws -> [String: String] {
        var sources: [String: String] = [:]
        for place in folders {
          sources.merge(try AppleModules.sources(in: "\(folder)/\(place)")) { _, new in new }
        }
        return sources.mapValues(onLinux).merging(["Linux.swift": linux]) { $1 }
      }

      /// The targets with the folders of their sources, as XcodeGen reads them.
      static func targets() throws -> [(name: String, folders: [String])] {
        let file = AppleModules.root.appending(path: "\(folder)/project.yml")
        let project = try String(contentsOf: file, encoding: .utf8)
        return project.matches(of: /\n  (\w+):\n(?:    .*\n)*?    sources: \[(.*)\]\n/).map {
          (String($0.1), $0.2.components(separatedBy: ", "))
        }
      }
    }

    /// The articles with samples, and the number of their samples. ``samplesOfArticles`` contains each sample, except
    /// for the files of the sample app and the manifest of a package.
    private static let articles = [
      "CommunicationNotifications": 3, "FocusFilters": 2, "GettingStarted": 8, "GroupedNotifications": 2,
      "NotificationActions": 3, "SettingUpAnApp": 14, "SharingFocus": 4,
    ]

    @Test func `the check compiles the samples of each article`() throws {
      let place = AppleModules.root.appending(path: "Sources/StillwireClient/StillwireClient.docc")
      var found: [String: Int] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: place.path) where name.hasSuffix(".md") {
        let count = try samples(of: String(name.dropLast(3))).count
        if count > 0 { found[String(name.dropLast(3))] = count }
      }
      #expect(found == Self.articles)
      let compiled = try samplesOfArticles
      for article in Self.articles.keys where article != "SettingUpAnApp" {
        // The first sample of GettingStarted is the manifest of a package.
        for sample in try samples(of: article).dropFirst(article == "GettingStarted" ? 1 : 0) {
          #expect(compiled.contains(sample), "\(article): \(sample)")
        }
      }
    }

    /// The samples of the articles, inside the declarations of an app.
    private var samplesOfArticles: String {
      get throws {
        let grouped = try samples(of: "GroupedNotifications")
        let actions = try samples(of: "NotificationActions")
        let communication = try samples(of: "CommunicationNotifications")
        let filters = try samples(of: "FocusFilters")
        let focus = try samples(of: "SharingFocus")
        let start = try samples(of: "GettingStarted")
        let setup = try samples(of: "SettingUpAnApp").filter { !$0.hasPrefix("// ") }
        try #require(
          setup.count == 5 && actions.count == 3 && communication.count == 3 && filters.count == 2 && focus.count == 4)
        try #require(start.count == 8 && grouped.count == 2)
        return """
          import AppIntents
          import CallKit
          import Foundation
          import FoundationNetworking
          import Intents
          import PushKit
          import StillwireApple
          import StillwireUI
          import SwiftUI
          import UIKit
          import UserNotifications
          struct Session {
            func token(refreshed: Bool = false) async throws -> String { "" }
            static let user: UserID = "ann"
            @Sendable static func identity() async throws -> Identity { .open("ann") }
          }
          let session = Session()
          let chat = AppGroup(
            "group.org.example.chat", app: "org.example.chat", relay: [RelayAddress("https://relay.example.org")!])
          func declareCategories() async throws {
          \(actions[0])}
          func setDelegate() {
          \(actions[1])}
          final class Delegate: NSObject, UNUserNotificationCenterDelegate, Sendable {
          let responder = NotificationResponder(chat)
          \(actions[2])}
          \(communication[0])
          final class Calls: NSObject, PKPushRegistryDelegate {
            let provider: CXProvider
            init(provider: CXProvider) { self.provider = provider }
            func pushRegistry(
              _ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType
            ) {}
          \(communication[1])}
          func donate(to bob: INPerson) async throws {
          \(communication[2])}
          struct AccountEntity: AppEntity {
            static let typeDisplayRepresentation: TypeDisplayRepresentation = "Account"
            static let defaultQuery = AccountQuery()
            let id: String
            var label: String { id }
            var displayRepresentation: DisplayRepresentation { "\\(id)" }
          }
          struct AccountQuery: EntityQuery {
            func entities(for identifiers: [String]) async throws -> [AccountEntity] { [] }
            func suggestedEntities() async throws -> [AccountEntity] { [] }
          }
          let relay = Stillwire(.init(RelayAddress("https://relay.example.org")!) { _ in .open("ann") })
          \(filters[0])
          \(filters[1])
          func start() {
          \(start[1])
          _ = (relay, running)
          }
          func startCluster() {
          \(start[2])
          _ = relay
          }
          func showGap() {}
          func show(_ message: Message) {}
          func follow() async throws {
          \(start[3])
          }
          func send(to tea: Room) async throws {
          \(start[4])
          }
          func accept() async throws {
          \(start[5])
          }
          struct Phase: View {
            @Environment(\\.scenePhase) private var scenePhase
            var body: some View { Text(verbatim: "")
          \(start[6])
            }
          }
          @MainActor var shown: Set<MessageReference> = []
          @MainActor func present() {
          \(start[7])
          }
          \(setup.joined(separator: "\n"))
          \(focus[0..<2].joined(separator: "\n"))
          func sendScore(to tea: Room) async throws {
          \(grouped[0])}
          func removeRead(_ newest: MessageReference) async {
          \(grouped[1])}
          func reportNow() async throws {
          \(focus[2])}
          func requestFocus() async throws {
          \(focus[3])}
          """
      }
    }

    @Test func `no delegate of the notification center has an async method`() throws {
      // Outside of the main actor such a method ends the app: UIKit requires its completion on the main thread.
      let places = ["Sources", "Tests/Apps"].map { AppleModules.root.appending(path: $0) }
      var methods = 0
      for place in places {
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.path)
        where path.hasSuffix(".swift") || path.hasSuffix(".md") {
          let text = try String(contentsOf: place.appending(path: path), encoding: .utf8)
          for method in text.matches(of: /func userNotificationCenter\((?:[^()]|\([^()]*\))*\)(?<effects>[^{]*)\{/) {
            #expect(!method.effects.contains("async"), "\(path)")
            methods += 1
          }
        }
      }
      #expect(methods >= 4)
    }

    @Test func `each assumption about iOS has a source, a place and a test`() throws {
      let file = AppleModules.root.appending(path: "Sources/StillwireClient/StillwireClient.docc/Assumptions.md")
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("|") }
      let rows = lines.map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        .filter { $0[0] != "assumption" && $0[0] != "---" }
      #expect(rows.count > 30)
      for row in rows {
        #expect(row.count == 4 && row.allSatisfy { !$0.isEmpty }, "\(row)")
        // The source is a page, or the row says that there is none.
        let isKnown = ["https://", "no source", "reports of developers", "page"].contains { row[1].contains($0) }
        #expect(isKnown, "\(row)")
      }
    }

    /// The blocks of Swift code in an article.
    private func samples(of article: String) throws -> [String] {
      let file = AppleModules.root.appending(path: "Sources/StillwireClient/StillwireClient.docc/\(article).md")
      let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```swift\n")
      return parts.dropFirst().compactMap { $0.components(separatedBy: "```").first }
    }

    /// The compiler's arguments for the C modules that StillwireClient's dependencies use: the module maps of these
    /// modules, and those of SwiftPM.
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
        return found.filter { files.fileExists(atPath: $0) }.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
      }
    }
  }
#endif
