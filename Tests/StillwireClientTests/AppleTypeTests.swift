// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
  import Foundation
  import Testing

  /// What needs Apple's frameworks is checked against modules that declare just what it uses of them.
  @Suite struct AppleTypeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()

    @Test func `StillwireApple has the types of Apple's frameworks`() throws {
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
      var arguments = ["-typecheck", "-module-name", "StillwireApple", "-package-name", "stillwire"]
      for place in [folder, Self.root.appending(path: ".build/debug/Modules")] { arguments += ["-I", place.path] }
      for file in try moduleMaps { arguments += ["-Xcc", "-fmodule-map-file=\(file)"] }
      for feature in ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"] {
        arguments += ["-enable-upcoming-feature", feature]
      }
      for source in sources where source.pathExtension == "swift" { arguments.append(source.path) }
      try compile(arguments)
    }

    /// Of the C modules below StillwireClient's dependencies: their own, and those that SwiftPM made.
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

    /// Records what the compiler says against the sources.
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
