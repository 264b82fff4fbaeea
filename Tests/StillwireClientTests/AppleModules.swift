// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
  import ChildProcess
  import Foundation

  /// One of Apple's systems, with the minimum version of the package.
  enum AppleSystem: String, CaseIterable, Sendable {
    case iOS, macOS, tvOS, visionOS, watchOS

    var minVersion: Double {
      switch self {
      case .iOS, .tvOS: 16
      case .macOS: 13
      case .visionOS: 1
      case .watchOS: 9
      }
    }
  }

  /// Compiles code for one of Apple's systems, with modules that declare only the used parts of its frameworks
  /// (StandIns). Compiles through SIL, because the type checker alone finds no data races.
  ///
  /// The compiler of Linux ignores the conditions and attributes of other systems. The sources are therefore copied, with
  /// these changes:
  ///
  /// - `os(tvOS)` becomes a flag of the compiler, which is set for this system.
  /// - `@available(iOS 17, *)` becomes `@available(*, unavailable)` if the version is above the minimum of the package.
  ///   The check therefore does not support `if #available`.
  /// - `@available(tvOS, unavailable)` becomes `@available(*, unavailable)`.
  struct AppleModules {
    /// The output of the compiler, if it fails.
    struct Failure: Error, CustomStringConvertible { var description: String }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    private static let standIns = root.appending(path: "Tests/StillwireClientTests/StandIns")
    /// The modules, each after the modules that it imports.
    static let names = ["UserNotifications", "Intents", "AppIntents", "CallKit", "PushKit", "Security"]

    let system: AppleSystem
    private let folder: URL

    /// Compiles the stand-ins.
    init(_ system: AppleSystem) throws {
      self.system = system
      folder = FileManager.default.temporaryDirectory.appending(path: "apple-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for name in Self.names {
        let source = try String(contentsOf: Self.standIn(name), encoding: .utf8)
        try compile(["\(name).swift": source], as: name, mode: 6)
      }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    static func standIn(_ name: String) -> URL { standIns.appending(path: "\(name).swift") }

    /// The sources of StillwireApple, by the names of their files.
    static func sources() throws -> [String: String] {
      let place = root.appending(path: "Sources/StillwireApple")
      var sources: [String: String] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: place.path) where name.hasSuffix(".swift") {
        sources[name] = try String(contentsOf: place.appending(path: name), encoding: .utf8)
      }
      return sources
    }

    /// Compiles a module through SIL. Later modules can import it. Throws ``Failure``.
    /// - Parameters:
    ///   - mode: The language mode, 5 or 6.
    ///   - arguments: Further arguments of the compiler.
    func compile(_ sources: [String: String], as module: String, mode: Int, _ arguments: [String] = []) throws {
      let place = folder.appending(path: "\(module)-sources-\(mode)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      var files: [String] = []
      for (name, source) in sources {
        let file = place.appending(path: name)
        try rewritten(source).write(to: file, atomically: true, encoding: .utf8)
        files.append(file.path)
      }
      let all = [
        "swiftc", "-swift-version", "\(mode)", "-warnings-as-errors", "-parse-as-library", "-wmo", "-emit-sil", "-o",
        place.appending(path: "\(module).sil").path, "-emit-module", "-emit-module-path",
        folder.appending(path: "\(module).swiftmodule").path, "-module-name", module, "-D", "SYSTEM_\(system.rawValue)",
        "-I", folder.path, "-I", Self.root.appending(path: ".build/debug/Modules").path,
      ]
      try run(all + arguments + files.sorted())
    }

    /// Runs a program. Throws ``Failure``.
    private func run(_ arguments: [String]) throws {
      let (hasSucceeded, output) = try ChildProcess.run(arguments)
      guard hasSucceeded else { throw Failure(description: output) }
    }

    /// Replaces the conditions and attributes for Apple's systems.
    private func rewritten(_ source: String) -> String {
      source.replacing(/\bos\((\w+)\)/) { "SYSTEM_\($0.1)" }
        .replacing(/@available\(([^)]*)\)/) { match in
          let parts = match.1.split(separator: ",").map { $0.split(separator: " ").map(String.init) }
          let own = parts.first { $0.first == system.rawValue }
          if parts.last == ["unavailable"] {
            return parts[0] == ["*"] || own != nil ? "@available(*, unavailable)" : ""
          }
          guard let own, let version = Double(own[1]), version > system.minVersion else { return "" }
          return "@available(*, unavailable, message: \"needs \(own.joined(separator: " "))\")"
        }
    }
  }
#endif
