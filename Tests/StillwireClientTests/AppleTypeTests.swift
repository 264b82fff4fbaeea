// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
  import Foundation
  import Testing

  /// Compiles the code that needs Apple's frameworks, with modules that declare only the used parts of them (StandIns).
  @Suite struct AppleTypeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()

    @Test func `StillwireApple and the samples of the articles have the types of Apple's frameworks`() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "apple-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let standIns = Self.root.appending(path: "Tests/StillwireClientTests/StandIns")
      for module in ["UserNotifications", "Intents"] {
        try compile([
          "-emit-module", "-module-name", module, "-o", folder.appending(path: "\(module).swiftmodule").path, "-I",
          folder.path, standIns.appending(path: "\(module).swift").path,
        ])
      }
      let sources = try FileManager.default.contentsOfDirectory(
        at: Self.root.appending(path: "Sources/StillwireApple"), includingPropertiesForKeys: nil)
      #expect(sources.count > 5)
      var found: [String] = []
      for place in [folder, Self.root.appending(path: ".build/debug/Modules")] { found += ["-I", place.path] }
      for file in try moduleMaps { found += ["-Xcc", "-fmodule-map-file=\(file)"] }
      var arguments = [
        "-emit-module", "-module-name", "StillwireApple", "-package-name", "stillwire", "-o",
        folder.appending(path: "StillwireApple.swiftmodule").path,
      ]
      arguments += found
      for feature in ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"] {
        arguments += ["-enable-upcoming-feature", feature]
      }
      for source in sources where source.pathExtension == "swift" { arguments.append(source.path) }
      try compile(arguments)
      let samples = folder.appending(path: "Samples.swift")
      try samplesOfArticles.write(to: samples, atomically: true, encoding: .utf8)
      try compile(["-typecheck", "-module-name", "Samples"] + found + [samples.path])
    }

    /// The samples of the articles, inside the declarations of an app.
    private var samplesOfArticles: String {
      get throws {
        let actions = try samples(of: "NotificationActions")
        let filters = try samples(of: "FocusFilters")
        try #require(actions.count == 2 && filters.count == 2)
        return """
          import Foundation
          import FoundationNetworking
          import StillwireApple
          import StillwireClient
          import UserNotifications
          struct Keychain {
            static let shared = Keychain()
            func token() throws -> String { "" }
            func reportKey() throws -> String { "" }
          }
          func declareCategories(defaults: UserDefaults) async throws {
          \(actions[0])}
          final class Delegate: NSObject, UNUserNotificationCenterDelegate, Sendable {
          \(actions[1])}
          \(filters[1])
          """
      }
    }

    /// The blocks of Swift code in an article.
    private func samples(of article: String) throws -> [String] {
      let file = Self.root.appending(path: "Sources/StillwireClient/StillwireClient.docc/\(article).md")
      let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```swift\n")
      return parts.dropFirst().compactMap { $0.components(separatedBy: "```").first }
    }

    /// The module maps of the C modules that StillwireClient's dependencies use: their own, and those of SwiftPM.
    private var moduleMaps: [String] {
      get throws {
        let files = FileManager.default
        let build = Self.root.appending(path: ".build/debug").resolvingSymlinksInPath()
        var found: [String] = []
        for folder in try files.contentsOfDirectory(atPath: build.path) where folder.hasPrefix("C") {
          found.append(build.appending(path: "\(folder)/module.modulemap").path)
        }
        let checkouts = Self.root.appending(path: ".build/checkouts")
        let own = [
          "swift-atomics/Sources/_AtomicsShims", "swift-nio-ssl/Sources/CNIOBoringSSL", "swift-nio/Sources/CNIOWindows",
        ]
        for folder in own {
          found.append(checkouts.appending(path: "\(folder)/include/module.modulemap").path)
        }
        return found.filter { files.fileExists(atPath: $0) }
      }
    }

    /// Runs the compiler. Records its output as an issue if it fails.
    private func compile(_ arguments: [String]) throws {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["swiftc", "-swift-version", "6", "-warnings-as-errors"] + arguments
      process.standardError = output
      process.standardOutput = output
      try process.run()
      let words = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "\(String(decoding: words, as: UTF8.self))")
    }
  }
#endif
